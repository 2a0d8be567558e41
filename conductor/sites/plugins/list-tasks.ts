/** `a, b and 3 more`: ten at most, for every one of many faults may name them. Pure. */
export function listTasks(names: readonly string[]): string {
  return names.length > 10 ? `${names.slice(0, 10).join(', ')} and ${names.length - 10} more` : names.join(', ');
}
