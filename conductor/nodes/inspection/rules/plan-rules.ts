import type { JsonPatch } from '#conductor/kernel/json-patch.ts';
import { TraitName } from '#conductor/model/trait-name.ts';
import { withCapability } from '#conductor/nodes/boot-mode.ts';
import { fillIn, type RuleSubject, textOf } from '#conductor/nodes/inspection/rules/fill-in.ts';
import { holds } from '#conductor/nodes/inspection/rules/holds.ts';
import { type InspectionRule, itemsOf, type RuleCall, type Signature } from '#conductor/nodes/inspection-rule.ts';

/** What rules make of a node. */
export interface RulesPlan {
  /** Descriptions of the rules that hold, in their order. */
  readonly applied: readonly string[];
  readonly patch: JsonPatch;
  readonly traits: { readonly added: readonly string[]; readonly removed: readonly string[] };
  readonly lines: readonly string[];
  /** How many of these come before the first sensitive rule that holds; what comes after may tell what it says. `undefined` = none is. */
  readonly openLines: number | undefined;
  /** Why the inspection shall fail. */
  readonly failure: string | undefined;
  /** Why nothing may be changed. */
  readonly fault: string | undefined;
}

export const actionArguments: Readonly<Record<string, Signature>> = {
  'set-attribute': { required: ['path', 'value'], optional: [] },
  'extend-attribute': { required: ['path', 'value'], optional: ['unique'] },
  'del-attribute': { required: ['path'], optional: [] },
  'set-capability': { required: ['name', 'value'], optional: [] },
  'add-trait': {
    required: ['name'],
    optional: [],
    fault: ({ name }) => TraitName.safeParse(name).error?.issues[0]?.message,
  },
  'remove-trait': { required: ['name'], optional: [] },
  fail: { required: ['msg'], optional: [] },
  log: { required: ['msg'], optional: ['level'] },
};

type Document = Record<string, unknown>;

interface Draft {
  readonly subject: RuleSubject & { readonly node: Document };
  readonly patch: JsonPatch;
  readonly added: Set<string>;
  readonly removed: Set<string>;
  readonly lines: string[];
  failure: string | undefined;
  fault: string | undefined;
}

/** Each rule sees what those before it have changed; a failure ends them. Pure. */
export function planRules(rules: readonly InspectionRule[], given: RuleSubject): RulesPlan {
  const draft: Draft = {
    subject: { ...given, node: structuredClone(given.node) },
    patch: [],
    added: new Set(),
    removed: new Set(),
    lines: [],
    failure: undefined,
    fault: undefined,
  };
  const applied: string[] = [];
  let openLines: number | undefined;
  for (const { description, sensitive, conditions, actions } of rules) {
    if (
      draft.failure !== undefined ||
      draft.fault !== undefined ||
      !conditions.every((condition) => holds(condition, draft.subject))
    )
      continue;
    applied.push(description);
    if (sensitive) openLines ??= draft.lines.length;
    for (const { loop, ...action } of actions) {
      if (loop === undefined) act(action, draft);
      else for (const item of itemsOf(loop)) act(action, draft, { item: fillIn(item, draft.subject), written: item });
    }
  }
  const { patch, added, removed, lines, failure, fault } = draft;
  return {
    applied,
    patch,
    traits: { added: [...added], removed: [...removed] },
    lines,
    openLines,
    failure,
    fault,
  };
}

/** What a loop has come to, and as the rule has it. */
type LoopItem = Pick<RuleSubject, 'item'> & { readonly written?: unknown };

function act({ op, args }: RuleCall, draft: Draft, { written, ...loop }: LoopItem = {}): void {
  const subject = { ...draft.subject, ...loop };
  const value = fillIn(args['value'], subject) ?? null;
  const name = textOf(fillIn(args['name'], subject));
  if (args['path'] !== undefined) {
    const keys = keysOf(args['path'], subject, written);
    const bad = keys.find((key) => key === '' || unsafeKeys.has(key));
    if (bad !== undefined) draft.fault ??= `${op}: path ${textOf(args['path'])} must not have the key '${bad}'`;
    if (bad !== undefined) return;
    if (op === 'set-attribute') return set(draft, keys, value);
    if (op === 'del-attribute') return remove(draft, keys);
    const before = keys.reduce<unknown>(below, draft.subject.node);
    const list: unknown[] = Array.isArray(before) ? before : [];
    const isThere = args['unique'] === true && list.some((each) => textOf(each) === textOf(value));
    return isThere ? undefined : set(draft, keys, [...list, value]);
  }
  if (op === 'set-capability') {
    const { capabilities } = (draft.subject.node['properties'] ?? {}) as Document;
    return set(draft, ['properties', 'capabilities'], withCapability(capabilities, name, textOf(value)));
  }
  const text = textOf(fillIn(args['msg'], subject));
  if (op === 'add-trait') draft.added.add(name);
  if (op === 'remove-trait') draft.removed.add(name);
  if (op === 'log') draft.lines.push(text);
  if (op === 'fail') draft.failure = text;
}

const unsafeKeys: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * `/driver_info/ipmi_username`, `driver_info.ipmi_username`, as Ironic takes them. Only the rule's own text has levels:
 * what a machine has told fills in one key.
 */
function keysOf(path: unknown, subject: RuleSubject, written: unknown): string[] {
  const text = textOf(path).replaceAll(/\{item[^{}]*\}/g, (each) => {
    const found = fillIn(each, { node: {}, inventory: {}, plugin_data: {}, item: written });
    return typeof found === 'string' ? found : each;
  });
  return (text.match(/(?:\{[^{}]*\}|[^/.])+/g) ?? []).map((key) => textOf(fillIn(key, subject)));
}

function below(parent: unknown, key: string): unknown {
  if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, key)) return undefined;
  return (parent as Document)[key];
}

/** RFC 6901's escapes. */
function pointerOf(keys: readonly string[]): string {
  return keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** With the objects that lead to it. */
function set(draft: Draft, keys: readonly string[], value: unknown): void {
  let parent = draft.subject.node;
  keys.slice(0, -1).forEach((key, index) => {
    const found = below(parent, key);
    if (typeof found !== 'object' || found === null) {
      parent[key] = {};
      draft.patch.push({ op: 'add', path: pointerOf(keys.slice(0, index + 1)), value: {} });
    }
    parent = parent[key] as Document;
  });
  parent[keys.at(-1) ?? ''] = value;
  draft.patch.push({ op: 'add', path: pointerOf(keys), value });
}

/** What is not there is as good as removed. */
function remove(draft: Draft, keys: readonly string[]): void {
  const parent = keys.slice(0, -1).reduce<unknown>(below, draft.subject.node) as Document | undefined;
  const last = keys.at(-1) ?? '';
  const found = below(parent, last);
  if (parent === undefined || found === undefined || found === null) return;
  delete parent[last];
  draft.patch.push({ op: 'remove', path: pointerOf(keys) });
}
