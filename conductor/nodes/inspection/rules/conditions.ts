import { BlockList, isIP } from 'node:net';
import { fillIn, type RuleSubject, textOf } from '#conductor/nodes/inspection/rules/fill-in.ts';
import { itemsOf, type RuleCall, type Signature } from '#conductor/nodes/inspection-rule.ts';
import { personPattern } from '#shared/person-pattern.ts';

type Given = Readonly<Record<string, unknown>>;

/** Whether a regular expression (flag `u`) is found in a text. */
export type Matches = (regex: string, text: string) => boolean;

/** Ironic's conditions; texts and numbers that are written alike are equal. */
const conditions: Readonly<
  Record<string, Signature & { readonly holds: (given: Given, matches: Matches) => boolean }>
> = {
  eq: inPairs((one, other) => textOf(one) === textOf(other)),
  lt: inPairs((one, other) => compare(one, other) < 0),
  gt: inPairs((one, other) => compare(one, other) > 0),
  'is-empty': ofValue((value) => ['', 'None', '[]', '{}'].includes(textOf(value))),
  'is-none': ofValue((value) => textOf(value) === 'None'),
  'is-true': ofValue((value) => (typeof value === 'number' ? value !== 0 : /^(yes|true)$/i.test(textOf(value)))),
  'is-false': ofValue((value) => (typeof value === 'number' ? value === 0 : /^(no|false|None)$/i.test(textOf(value)))),
  'in-net': {
    required: ['address', 'subnet'],
    optional: [],
    holds: ({ address, subnet }) => isInNet(textOf(address), textOf(subnet)),
  },
  'one-of': {
    required: ['value', 'values'],
    optional: [],
    holds: ({ value, values }) => Array.isArray(values) && values.some((each) => textOf(each) === textOf(value)),
  },
  matches: withRegex((regex) => `^(?:${regex})$`),
  contains: withRegex((regex) => regex),
};

export const conditionArguments: Readonly<Record<string, Signature>> = conditions;

/** Returns whether the condition holds. Pure. */
export function conditionHolds(
  { loop, multiple = 'any', ...call }: RuleCall,
  subject: RuleSubject,
  matches: Matches,
): boolean {
  const items = itemsOf(loop);
  if (items === undefined) return holdsOnce(call, subject, matches);
  const each = (item: unknown): boolean => holdsOnce(call, { ...subject, item: fillIn(item, subject) }, matches);
  if (multiple === 'all') return items.every(each);
  if (multiple === 'any') return items.some(each);
  return each(multiple === 'first' ? items[0] : items.at(-1));
}

function holdsOnce({ op, args }: RuleCall, subject: RuleSubject, matches: Matches): boolean {
  const name = op.replace(/^!\s*/, '');
  const given = Object.fromEntries(Object.entries(args).map(([key, value]) => [key, fillIn(value, subject)]));
  return (conditions[name]?.holds(given, matches) ?? false) !== op.startsWith('!');
}

function inPairs(test: (one: unknown, other: unknown) => boolean) {
  return {
    required: ['values'],
    optional: ['force_strings'],
    holds: ({ values }: Given) =>
      Array.isArray(values) && values.every((value, index) => index === 0 || test(values[index - 1], value)),
  };
}

function ofValue(test: (value: unknown) => boolean) {
  return { required: ['value'], optional: [], holds: ({ value }: Given) => test(value) };
}

function withRegex(whole: (regex: string) => string) {
  return {
    required: ['value', 'regex'],
    optional: [],
    fault: ({ regex }: Given) => regexFault(textOf(regex)),
    holds: ({ value, regex }: Given, matches: Matches) => matches(whole(textOf(regex)), textOf(value)),
  };
}

function regexFault(regex: string): string | undefined {
  try {
    personPattern(regex, 'u');
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function compare(one: unknown, other: unknown): number {
  const [first, second] = [Number(one), Number(other)];
  if (!Number.isNaN(first) && !Number.isNaN(second)) return first - second;
  return textOf(one) < textOf(other) ? -1 : Number(textOf(one) > textOf(other));
}

function isInNet(address: string, subnet: string): boolean {
  const [network = '', length = ''] = subnet.split('/');
  const [family, own] = [isIP(address), isIP(network)];
  if (family === 0 || family !== own) return false;
  const list = new BlockList();
  const kind = family === 4 ? 'ipv4' : 'ipv6';
  list.addSubnet(network, length === '' ? (family === 4 ? 32 : 128) : Number(length), kind);
  return list.check(address, kind);
}
