"""What needs the extras: the command line, tables of files, the report, explore."""
