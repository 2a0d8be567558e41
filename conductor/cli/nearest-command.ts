/** The command that was probably meant: at most two letters away, and not another word altogether. Pure. */
export function nearestCommand(args: readonly string[], commands: readonly string[]): string | undefined {
  const near = commands
    .map((words) => {
      const given = args.slice(0, words.split(' ').length).join(' ');
      return { words, distance: editDistance(given, words) };
    })
    .filter(({ words, distance }) => distance <= 2 && distance * 2 < words.length)
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.words;
}

/** Letters to put in, take away, replace or swap with their neighbour (optimal string alignment). */
function editDistance(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    const above = rows[i - 1] ?? [];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (above[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swapped = isSwap ? (rows[i - 2]?.[j - 2] ?? 0) + 1 : Infinity;
      row.push(Math.min((above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, replaced, swapped));
    }
    rows.push(row);
  }
  return rows[from.length]?.[to.length] ?? 0;
}
