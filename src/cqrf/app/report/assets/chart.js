// Shows the numbers of a chart under the pointer, or under the arrow keys, and hides lines by
// their legend. A chart's numbers stand in its data-chart attribute; marks carry a data-tip.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  let tip = null;

  function show(text, x, y) {
    if (!tip) {
      tip = document.createElement("div");
      tip.id = "tip";
      tip.setAttribute("role", "status");
      document.body.append(tip);
    }
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const room = document.documentElement.clientWidth - box.width - 6;
    tip.style.left = Math.max(4, Math.min(x + 14, room)) + "px";
    tip.style.top = (y - box.height - 12 > 0 ? y - box.height - 12 : y + 18) + "px";
  }

  function hide(svg) {
    if (tip) tip.hidden = true;
    svg.querySelector(".cursor")?.remove();
  }

  function format(value, percent) {
    if (percent) return Number((100 * value).toPrecision(3)) + "%";
    return Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 6 });
  }

  // The value of a line at x: of a step function the step, else the nearest point.
  function valueAt(line, x) {
    const n = line.x.length;
    let k = 0;
    while (k + 1 < n && line.x[k + 1] <= x) k++;
    if (line.step) return x < line.x[0] ? null : [x, line.y[k]];
    if (k + 1 < n && Math.abs(line.x[k + 1] - x) < Math.abs(line.x[k] - x)) k++;
    return [line.x[k], line.y[k]];
  }

  function point(svg, chart, at, clientX, clientY) {
    const part = (at - chart.left) / (chart.right - chart.left);
    const x = chart.log
      ? chart.low * Math.pow(chart.high / chart.low, part)
      : chart.low + part * (chart.high - chart.low);
    let shownAt = x;
    const lines = [];
    chart.series.forEach((line) => {
      const mark = svg.querySelector(`g[data-at="${line.at}"]`);
      const found = mark && mark.style.display !== "none" ? valueAt(line, x) : null;
      if (!found) return;
      if (!line.step) shownAt = found[0];
      lines.push(`${line.name}: ${format(found[1], chart.ypercent)}`);
    });
    if (!lines.length) return hide(svg);
    let cursor = svg.querySelector(".cursor");
    if (!cursor) {
      cursor = document.createElementNS(SVG, "line");
      cursor.setAttribute("class", "cursor");
      svg.append(cursor);
    }
    for (const [name, value] of [["x1", at], ["x2", at], ["y1", chart.top], ["y2", chart.bottom]])
      cursor.setAttribute(name, value);
    show(`${chart.xlabel}: ${format(shownAt, chart.xpercent)}\n${lines.join("\n")}`, clientX, clientY);
  }

  // One listener for the page: charts may be replaced while it is open.
  document.addEventListener("pointermove", (event) => {
    const svg = event.target.closest?.("svg.chart");
    if (!svg) {
      document.querySelectorAll("svg.chart .cursor").forEach((c) => hide(c.ownerSVGElement));
      if (tip) tip.hidden = true;
      return;
    }
    const mark = event.target.closest("[data-tip]");
    if (mark) return hide(svg), show(mark.dataset.tip, event.clientX, event.clientY);
    const chart = JSON.parse(svg.dataset.chart);
    const box = svg.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    if (at < chart.left || at > chart.right || !chart.series.length) return hide(svg);
    point(svg, chart, at, event.clientX, event.clientY);
  });

  document.addEventListener("keydown", (event) => {
    const svg = event.target;
    if (!svg.matches?.("svg.chart") || !["ArrowLeft", "ArrowRight", "Escape"].includes(event.key)) return;
    const chart = JSON.parse(svg.dataset.chart);
    if (event.key === "Escape" || !chart.series.length) return hide(svg);
    event.preventDefault();
    const old = Number(svg.querySelector(".cursor")?.getAttribute("x1") ?? chart.left);
    const step = (event.key === "ArrowLeft" ? -1 : 1) * (chart.right - chart.left) / 40;
    const at = Math.max(chart.left, Math.min(chart.right, old + step));
    const box = svg.getBoundingClientRect();
    point(svg, chart, at, box.left + (at / svg.viewBox.baseVal.width) * box.width, box.top + box.height / 3);
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button[data-line]");
    if (!button) return;
    const marks = button.closest("figure").querySelectorAll(`svg.chart [data-at="${button.dataset.line}"]`);
    const on = button.getAttribute("aria-pressed") === "true";
    button.setAttribute("aria-pressed", String(!on));
    marks.forEach((mark) => { mark.style.display = on ? "none" : ""; });
  });

  // Tables that are wider than their place say so.
  function showHints() {
    document.querySelectorAll(".wide").forEach((wide) => {
      wide.previousElementSibling.hidden = wide.scrollWidth <= wide.clientWidth + 1;
    });
  }
  showHints();
  addEventListener("resize", showHints);
  document.addEventListener("toggle", showHints, true);

  // A page that is printed shows the tables behind its charts too.
  addEventListener("beforeprint", () =>
    document.querySelectorAll("details").forEach((d) => { d.open = true; }));
})();
