// Sends the row to the server whenever a control moves, one request at a time, and shows the
// answer; sends a table to be scored and offers the result.
(() => {
  const form = document.getElementById("row");
  const message = document.getElementById("message");
  const preview = document.getElementById("preview");
  let pinned = null;
  let busy = false;
  let again = false;
  let failed = false;

  function format(value) {
    const digits = Math.abs(value) >= 1e4 ? {} : { useGrouping: false };
    return Number(Number(value).toPrecision(5)).toLocaleString("en", { maximumFractionDigits: 6, ...digits });
  }

  function values() {
    return [...form.querySelectorAll("[data-feature]")].map((input) => {
      const gone = form.querySelector(`[data-missing="${input.dataset.feature}"]`);
      const missing = Boolean(gone && gone.checked) || input.value === "";
      const output = form.querySelector(`output[for="${input.id}"]`);
      if (input.type === "range") output.textContent = missing ? "missing" : format(input.value);
      return missing ? null : Number(input.value);
    });
  }

  async function post(path, body, headers) {
    const response = await fetch(path, { method: "POST", body, headers }).catch(() => {
      throw new Error("There is no answer. Is the program still running?");
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error);
    return answer;
  }

  async function update() {
    if (busy) { again = true; return; }
    busy = true;
    do {
      again = false;
      try {
        const request = JSON.stringify({ values: values(), pinned });
        const answer = await post("predict", request, { "Content-Type": "application/json" });
        if (failed) say("");
        failed = false;
        document.getElementById("figure").innerHTML = answer.figure;
        document.getElementById("tiles").replaceChildren(...answer.tiles.map((tile) => {
          const box = document.createElement("div");
          const value = document.createElement("b");
          const name = document.createElement("span");
          value.textContent = tile.value;
          name.textContent = tile.name;
          box.append(value, name);
          return box;
        }));
      } catch (error) {
        failed = true;
        say(error.message);
      }
    } while (again);
    busy = false;
  }

  function say(text) { message.textContent = text; }

  form.addEventListener("input", update);
  form.addEventListener("reset", () => { pinned = null; setTimeout(update); });
  document.getElementById("pin").addEventListener("click", () => { pinned = values(); update(); });

  document.getElementById("file").addEventListener("change", async (event) => {
    const file = event.target.files[0];
    preview.replaceChildren();
    if (!file) return say("");
    if (file.size > settings.maxUpload)
      return say(`${file.name} is larger than ${settings.maxUpload >> 20} MB; use cqrf predict.`);
    say("Scoring ...");
    try {
      const answer = await post("score?name=" + encodeURIComponent(file.name), file, { "Content-Type": "application/octet-stream" });
      say(`${answer.rows.toLocaleString("en")} rows scored.`);
      preview.innerHTML = answer.preview;
      const link = document.createElement("a");
      link.id = "download";
      link.href = answer.result;
      link.download = file.name.replace(/\.[^.]*$/, "") + "_predicted.csv";
      link.textContent = "Download all as CSV";
      preview.prepend(link);
      dispatchEvent(new Event("resize"));
    } catch (error) {
      say(error.message);
    }
    event.target.value = "";
  });
})();
