/** Names the first `most` of many: `a, b and 3 more`. Pure. */
export function nameSome(names: readonly string[], most: number): string {
  const named = names.slice(0, most).join(', ');
  return names.length > most ? `${named} and ${names.length - most} more` : named;
}

/** Writes `1 image`, `2 images`. Pure. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Returns the word that was probably meant: at most two letters away, and not another word altogether; `_` is `-`. Pure. */
export function nearestWord(given: string, words: Iterable<string>): string | undefined {
  // what takes long to compare is nobody's misspelt word
  if (given.length > 100) return undefined;
  let nearest: string | undefined;
  let least = 3;
  for (const word of words) {
    if (Math.abs(word.length - given.length) >= least) continue;
    const distance = editDistance(given.replaceAll('_', '-'), word.replaceAll('_', '-'));
    if (distance < least && distance * 2 < word.length) [nearest, least] = [word, distance];
  }
  return nearest;
}

/** Writes `; did you mean X?`, to follow the refusal of a word; empty where none is near. Pure. */
export function didYouMean(given: string, words: Iterable<string>): string {
  const meant = nearestWord(given, words);
  return meant === undefined ? '' : `; did you mean ${meant}?`;
}

/** Letters to put in, take away, replace or swap with their neighbour (optimal string alignment). */
export function editDistance(from: string, to: string): number {
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
