/** Sizes and dates as the page's language writes them. */
export function bytes(size: number, language: string): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"] as const;
  const step = Math.min(Math.floor(Math.log10(Math.max(size, 1)) / 3), units.length - 1);
  return new Intl.NumberFormat(language, {
    style: "unit",
    unit: units[step],
    unitDisplay: step === 0 ? "long" : "short",
    maximumFractionDigits: step > 1 ? 1 : 0,
  }).format(size / 1000 ** step);
}

export function day(iso: string, language: string): string {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? "" : new Intl.DateTimeFormat(language, { dateStyle: "medium" }).format(date);
}

export function moment(iso: string, language: string): string {
  return new Date(iso).toLocaleString(language, { dateStyle: "medium", timeStyle: "short" });
}
