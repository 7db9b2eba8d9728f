// SPDX-License-Identifier: BSD-3-Clause
// Connects the page to its libraries: DataTables (`tables`) and Plotly. Without scripts the page has the same tables
// and still pictures. Text of manifests and results only enters as text nodes, or escaped for Plotly.

const DataTable = tables.default;
const NARROW_PX = 640;
const ROWS_OF_A_PAGE = 25;
const darkMode = matchMedia("(prefers-color-scheme: dark)");
const onDark = JSON.parse(document.getElementById("dark").textContent);
const details = JSON.parse(document.getElementById("details").textContent);
const dialog = document.getElementById("run");

const element = (tag, text, attributes = {}) => {
  const made = Object.assign(document.createElement(tag), attributes);
  made.textContent = text;
  return made;
};

// ---- Tables ----

const sortable = (table) => {
  const rows = table.tBodies[0].rows.length;
  if (rows < 2) return;
  const made = new DataTable(table, {
    autoWidth: false,
    order: [],
    paging: rows > ROWS_OF_A_PAGE,
    pageLength: ROWS_OF_A_PAGE,
    lengthMenu: [25, 100, { label: "all", value: -1 }],
    columnControl: rows > 3 ? ["searchDropdown"] : [],
    layout: {
      topStart: rows > 3 ? { search: { placeholder: "filter rows" } } : null,
      topEnd: rows > ROWS_OF_A_PAGE ? "pageLength" : null,
      bottomStart: rows > 3 ? "info" : null,
      bottomEnd: rows > ROWS_OF_A_PAGE ? "paging" : null,
    },
    language: { search: "Filter:", lengthMenu: "_MENU_ rows", info: "_START_ to _END_ of _TOTAL_ rows" },
  });
  const name = table.caption ? table.caption.textContent : "counters";
  for (const pages of made.table().container().querySelectorAll("nav")) pages.setAttribute("aria-label", `pages: ${name}`);
};

// ---- Figures ----

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const template = () => {
  const [ink, line, paper] = ["--ink", "--line", "--paper"].map(colour);
  const axis = { gridcolor: line, linecolor: line, zerolinecolor: line, tickcolor: line, zeroline: false, ticks: "outside" };
  const hover = { bgcolor: paper, bordercolor: ink, font: { color: ink }, align: "left" };
  return {
    layout: {
      font: { color: ink, family: colour("--sans") },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      xaxis: axis,
      yaxis: axis,
      hoverlabel: hover,
      annotationdefaults: { font: { color: ink } },
    },
  };
};

// Every value of the JSON that is a colour of the palette is replaced by its counterpart for a dark page.
const themed = (text) => JSON.parse(text, (_, value) => (darkMode.matches && onDark[value]) || value);

const CONFIG = { displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };

const draw = async (picture) => {
  const figure = themed(picture.querySelector("script.plot").textContent);
  const narrow = picture.clientWidth < NARROW_PX;
  let live = picture.querySelector(".live");
  if (!live) {
    live = element("div", "", { className: "live" });
    picture.append(live);
  }
  const layout = { ...(narrow ? figure.narrow : figure.wide), template: template(), dragmode: narrow ? false : "zoom" };
  layout.width = live.clientWidth;
  const runs = picture.querySelector("script.runs-of-rows");
  await Plotly.react(live, figure.data, layout, CONFIG);
  if (runs && !picture.classList.contains("drawn")) {
    const keys = JSON.parse(runs.textContent);
    live.on("plotly_click", (event) => open(keys[event.points[0].y]));
  }
  picture.classList.add("drawn");
  picture.dataset.width = String(live.clientWidth);
};

// The style sheet of DataTables knows dark mode by a class.
const darken = () => document.documentElement.classList.toggle("dark", darkMode.matches);

const drawAgain = () => {
  darken();
  for (const picture of document.querySelectorAll(".picture.drawn")) {
    if (picture.clientWidth) draw(picture);
  }
  if (dialog.open) drawMap();
};

const nearby = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting && target.querySelector("script.plot")) {
        nearby.unobserve(target);
        draw(target);
      }
    }
  },
  { rootMargin: "800px" },
);

let pending = 0;
const resized = new ResizeObserver((entries) => {
  const changed = entries.some(({ target }) => {
    const live = target.querySelector(".live");
    return live && target.clientWidth && String(live.clientWidth) !== target.dataset.width;
  });
  if (changed) {
    clearTimeout(pending);
    pending = setTimeout(drawAgain, 150);
  }
});

// ---- The details of one run ----

let shown;

const open = (key) => {
  location.hash = encodeURIComponent(key);
};

const link = (text, target) => element("a", text, { href: `#${encodeURIComponent(target)}` });

const drawMap = () => {
  const { label, cpus } = details.runs[shown];
  const ids = ["all"], labels = [label], parents = [""], values = [0], colours = ["rgba(0,0,0,0)"];
  cpus.forEach((times, cpu) => {
    const parent = cpus.length > 1 ? `cpu-${cpu}` : "all";
    const total = times.reduce((sum, time) => sum + time, 0);
    if (cpus.length > 1) [ids, labels, parents, values, colours].forEach((of, n) => of.push([parent, `CPU ${cpu}`, "all", total, "rgba(0,0,0,0)"][n]));
    values[0] += total;
    times.forEach((time, place) => {
      if (!time) return;
      const [name, fill] = details.places[place];
      ids.push(`${parent} ${name}`);
      labels.push(name);
      parents.push(parent);
      values.push(time);
      colours.push(fill);
    });
  });
  const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const shares = values.map((time) => `${(time / 1e9).toPrecision(4)} ms, ${((100 * time) / values[0]).toFixed(1)} %`);
  const trace = { type: "treemap", ids, labels: labels.map(plain), parents, values, text: shares, branchvalues: "total" };
  const look = { hoverinfo: "label+text", textinfo: "label+text", marker: { colors: colours, line: { width: 1 } }, tiling: { pad: 2 } };
  const map = dialog.querySelector(".map");
  const layout = { template: template(), height: 300, width: map.clientWidth, margin: { l: 0, r: 0, t: 4, b: 0 } };
  layout.uniformtext = { minsize: 9, mode: "hide" };
  return Plotly.react(map, [{ ...trace, ...look, pathbar: { visible: false } }], layout, { displayModeBar: false });
};

const show = (key) => {
  const run = details.runs[key];
  shown = key;
  dialog.querySelector("#run-title").textContent = `${run.manifest}: ${run.label}`;
  const links = dialog.querySelector(".links");
  links.replaceChildren(link("Counters", "run-counters"), link(`All runs of ${run.manifest}`, `runs-${run.manifest}`));
  if (document.getElementById(`manifest-${run.manifest}`)) links.append(link("Manifest", `manifest-${run.manifest}`));
  for (const [name, title] of run.figures) links.append(link(title, `figure-${name}`));
  const terms = run.configuration.map(([name, value]) => {
    const line = element("div", "");
    line.append(element("dt", name), element("dd", value || "–"));
    return line;
  });
  dialog.querySelector(".keys").replaceChildren(...terms);
  const counted = details.counters.map((name, n) => [name, run.counters[n]]).filter(([, value]) => value !== null);
  dialog.querySelector(".no-counters").hidden = counted.length > 0;
  dialog.querySelector(".counters").replaceChildren(...(counted.length ? [counters(counted)] : []));
  dialog.querySelector(".no-times").hidden = run.cpus.length > 0;
  dialog.querySelector(".map").hidden = !run.cpus.length;
  if (!dialog.open) dialog.showModal();
  const table = dialog.querySelector(".counters table");
  if (table) sortable(table);
  if (run.cpus.length) drawMap();
  dialog.scrollTop = 0;
  dialog.querySelector("#run-title").focus();
};

const counters = (counted) => {
  const table = element("table", "", { className: "sortable", id: "counter-table" });
  const head = table.createTHead().insertRow();
  head.append(element("th", "counter", { scope: "col" }), element("th", "value", { scope: "col", className: "number" }));
  const body = table.createTBody();
  for (const [name, value] of counted) {
    const row = body.insertRow();
    const cell = element("td", value.toLocaleString("en"), { className: "number" });
    cell.dataset.sort = String(value);
    row.append(element("th", name, { scope: "row" }), cell);
  }
  return table;
};

dialog.addEventListener("close", () => {
  if (decodeURIComponent(location.hash.slice(1)) === shown) history.replaceState(null, "", location.pathname + location.search);
});

// ---- Links ----

// A link to a run shows the run. A link to an element in closed details opens the details.
const follow = () => {
  const name = decodeURIComponent(location.hash.slice(1));
  if (Object.hasOwn(details.runs, name)) return show(name);
  const target = name && document.getElementById(name);
  if (!target) return undefined;
  if (dialog.open && !dialog.contains(target)) dialog.close();
  for (let around = target; around; around = around.parentElement) {
    if (around instanceof HTMLDetailsElement) around.open = true;
  }
  return target.scrollIntoView();
};

// The same link may be followed again after the run was closed, which changes no address.
addEventListener("hashchange", follow);
darken();
document.querySelectorAll("table.sortable").forEach(sortable);
for (const picture of document.querySelectorAll(".picture")) {
  nearby.observe(picture);
  resized.observe(picture);
}
darkMode.addEventListener("change", drawAgain);
addEventListener("beforeprint", () => {
  for (const table of document.querySelectorAll("table.dataTable")) new DataTable.Api(table).page.len(-1).draw();
});
document.documentElement.classList.add("scripted");
follow();
