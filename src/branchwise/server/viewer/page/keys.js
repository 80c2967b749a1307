// Keys of the page, wherever the focus is outside of a field. Knows no run.

/** What a key does. */
export function pressed(app, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || app.dialog.open || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  const view = app.active?.view;
  const inTree = view && document.activeElement === view.canvas;
  const arrows = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" };
  if (event.key in arrows && (inTree || document.activeElement === document.body)) view?.step(arrows[event.key]);
  else if (event.key === "Enter" && inTree && view.selected) app.chosen(app.active, view.selected, true);
  else if (event.key === "/") app.box.select();
  else if (event.key === "?") app.help();
  else if (event.key === "Escape") view?.canvas.focus();
  else if (!view) return;
  else if (event.key === "Home" && inTree) view.select(view.root);
  else if ("aA".includes(event.key)) app.active.answer();
  else if ("fF".includes(event.key)) app.active.fit();
  else if ("nN".includes(event.key)) app.step(1);
  else if ("pP".includes(event.key)) app.step(-1);
  else if ("+=".includes(event.key)) view.zoom(1.25);
  else if ("-−".includes(event.key)) view.zoom(1 / 1.25);
  else if (event.key === "0") view.zoom(1 / view.camera.scale);
  else return;
  event.preventDefault();
}
