import { isRemark } from '#conductor/model/remarks/remark.ts';
import { describeRemark } from '#conductor/model/remarks/remark-words.ts';

/** A stored or answered value with its remarks in words. Pure. */
export function inWords(value: unknown): unknown {
  if (isRemark(value)) return describeRemark(value);
  if (Array.isArray(value)) return value.map(inWords);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, inWords(each)]));
}
