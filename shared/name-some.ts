/** `a, b and 3 more`: of many the first `most`. Pure. */
export function nameSome(names: readonly string[], most: number): string {
  const named = names.slice(0, most).join(', ');
  return names.length > most ? `${named} and ${names.length - most} more` : named;
}
