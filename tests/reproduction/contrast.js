// The text with the least contrast to what is behind it.
const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
const luminance = (colour) => {
  const [r, g, b] = numbers(colour).slice(0, 3).map((value) => {
    const part = value / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
  for (let e = element; e; e = e.parentElement) {
    const colour = getComputedStyle(e).backgroundColor;
    const alpha = numbers(colour)[3];
    if (alpha === undefined || alpha === 1) return colour;
  }
  return "rgb(255, 255, 255)";
};
const worst = {ratio: 99, text: "", count: 0};
for (const element of document.body.querySelectorAll("*")) {
  const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || ["SCRIPT", "OPTION", "NOSCRIPT", "style"].includes(element.tagName)) continue;
  const style = getComputedStyle(element);
  const colour = element instanceof SVGElement ? style.fill : style.color;
  if (!colour.startsWith("rgb")) continue;
  const [a, b] = [luminance(colour), luminance(behind(element))].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  worst.count += 1;
  if (ratio < worst.ratio) Object.assign(worst, {ratio, text: element.textContent.slice(0, 60), colour});
}
return worst;
