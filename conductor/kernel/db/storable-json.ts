/**
 * The value without what PostgreSQL's JSON can't hold (U+0000, halves of characters), so that words of agents and
 * machines never keep a fact from being recorded.
 */
export function storableJson<T>(value: T): T {
  if (typeof value === 'string') return value.replaceAll('\u0000', '\uFFFD').toWellFormed() as T;
  if (Array.isArray(value)) return value.map((each: unknown) => storableJson(each)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [storableJson(key), storableJson(inner)])) as T;
}
