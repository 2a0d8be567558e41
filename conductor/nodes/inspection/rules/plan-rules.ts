import type { JsonPatch } from '#conductor/kernel/json-patch.ts';
import { TraitName } from '#conductor/model/trait-name.ts';
import { withCapability, withoutCapability } from '#conductor/nodes/boot/boot-mode.ts';
import { conditionHolds } from '#conductor/nodes/inspection/rules/conditions.ts';
import { fillIn, type RuleSubject, textOf } from '#conductor/nodes/inspection/rules/fill-in.ts';
import type { RuleMatches } from '#conductor/nodes/inspection/rules/match-apart.ts';
import { type InspectionRule, itemsOf, type RuleCall, type Signature } from '#conductor/nodes/inspection-rule.ts';

/** Input of rules: what they may look at, and the node's ports, each as the API has it. */
export interface RulesGiven extends RuleSubject {
  readonly ports: readonly { readonly uuid: string; readonly address: string; readonly document: Document }[];
}

/** Effect of rules on a node. */
export interface RulesPlan {
  /** Descriptions of the rules that hold, in their order. */
  readonly applied: readonly string[];
  readonly patch: JsonPatch;
  /** Patches of the ports that are changed. */
  readonly ports: readonly { readonly uuid: string; readonly patch: JsonPatch }[];
  /** All of it, where something of it is changed. */
  readonly pluginData: Document | undefined;
  /** All that is changed: `/name`, `/ports/52:54:00:00:00:01/extra/rack`, `/plugin_data/rack`. */
  readonly changed: readonly string[];
  readonly traits: { readonly added: readonly string[]; readonly removed: readonly string[] };
  readonly lines: readonly string[];
  /** How many of these come before the first sensitive rule that holds; what comes after may reveal what it says. `undefined` = none is. */
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
  'unset-capability': { required: ['name'], optional: [] },
  'set-port-attribute': { required: ['port_id', 'path', 'value'], optional: [] },
  'extend-port-attribute': { required: ['port_id', 'path', 'value'], optional: ['unique'] },
  'del-port-attribute': { required: ['port_id', 'path'], optional: [] },
  'set-plugin-data': { required: ['path', 'value'], optional: [] },
  'extend-plugin-data': { required: ['path', 'value'], optional: ['unique'] },
  'unset-plugin-data': { required: ['path'], optional: [] },
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

/** A document that is being changed, and how. */
interface Target {
  readonly document: Document;
  readonly patch: JsonPatch;
}

interface Draft {
  readonly subject: RuleSubject;
  readonly node: Target;
  readonly pluginData: Target;
  readonly ports: readonly (Target & { readonly uuid: string; readonly address: string })[];
  readonly added: Set<string>;
  readonly removed: Set<string>;
  readonly lines: string[];
  failure: string | undefined;
  fault: string | undefined;
}

function draftOf({ ports, ...subject }: RulesGiven): Draft {
  const changing = (document: RuleSubject['node']): Target => ({ document: structuredClone(document), patch: [] });
  const [node, pluginData] = [changing(subject.node), changing(subject.plugin_data)];
  return {
    subject: { ...subject, node: node.document, plugin_data: pluginData.document },
    node,
    pluginData,
    ports: ports.map(({ uuid, address, document }) => ({ uuid, address, ...changing(document) })),
    added: new Set(),
    removed: new Set(),
    lines: [],
    failure: undefined,
    fault: undefined,
  };
}

/** Plans the changes of all rules; each rule sees the changes of those before it, and a failure ends them. Pure. */
export function planRules(rules: readonly InspectionRule[], given: RulesGiven, matches: RuleMatches): RulesPlan {
  const draft = draftOf(given);
  const applied: string[] = [];
  let openLines: number | undefined;
  for (const { description, sensitive, conditions, actions } of rules) {
    if (
      draft.failure !== undefined ||
      draft.fault !== undefined ||
      !conditions.every((condition) =>
        conditionHolds(condition, draft.subject, (regex, text) => matches(description, regex, text)),
      )
    )
      continue;
    applied.push(description);
    if (sensitive) openLines ??= draft.lines.length;
    for (const { loop, ...action } of actions) {
      const items = itemsOf(loop);
      if (items === undefined) act(action, draft);
      for (const item of items ?? []) act(action, draft, { item: fillIn(item, draft.subject), written: item });
    }
  }
  const { node, pluginData, added, removed, lines, failure, fault } = draft;
  const ports = draft.ports.filter(({ patch }) => patch.length > 0);
  const changed = [
    ...node.patch.map(({ path }) => path),
    ...ports.flatMap(({ address, patch }) => patch.map(({ path }) => `/ports/${address}${path}`)),
    ...pluginData.patch.map(({ path }) => `/plugin_data${path}`),
  ];
  return {
    applied,
    patch: node.patch,
    ports: ports.map(({ uuid, patch }) => ({ uuid, patch })),
    pluginData: pluginData.patch.length > 0 ? pluginData.document : undefined,
    changed: [...new Set(changed)],
    traits: { added: [...added], removed: [...removed] },
    lines,
    openLines,
    failure,
    fault,
  };
}

/** The item that a loop has come to, and as the rule has it. */
type LoopItem = Pick<RuleSubject, 'item'> & { readonly written?: unknown };

function act({ op, args }: RuleCall, draft: Draft, { written, ...loop }: LoopItem = {}): void {
  const subject = { ...draft.subject, ...loop };
  const name = textOf(fillIn(args['name'], subject));
  const text = textOf(fillIn(args['msg'], subject));
  if (args['path'] !== undefined) return change({ op, args }, draft, { subject, written });
  if (op === 'set-capability' || op === 'unset-capability') {
    const { capabilities } = (draft.node.document['properties'] ?? {}) as Document;
    const value = textOf(fillIn(args['value'], subject));
    const left =
      op === 'set-capability' ? withCapability(capabilities, name, value) : withoutCapability(capabilities, name);
    return set(draft.node, ['properties', 'capabilities'], left);
  }
  if (op === 'add-trait') draft.added.add(name);
  if (op === 'remove-trait') draft.removed.add(name);
  if (op === 'log') draft.lines.push(text);
  if (op === 'fail') draft.failure = text;
}

/** Changes the value at a path by `set-`, `extend-`, `del-` or `unset-`. */
function change(
  { op, args }: RuleCall,
  draft: Draft,
  { subject, written }: { readonly subject: RuleSubject; readonly written: unknown },
): void {
  const target = targetOf({ op, args }, draft, subject);
  const keys = keysOf(args['path'], subject, written);
  const bad = keys.length === 0 ? '' : keys.find((key) => key === '' || unsafeKeys.has(key));
  if (bad !== undefined) draft.fault ??= `${op}: path ${textOf(args['path'])} must not have the key '${bad}'`;
  if (bad !== undefined || target === undefined) return;
  if (/^(del|unset)-/.test(op)) return remove(target, keys);
  const value = fillIn(args['value'], subject) ?? null;
  if (op.startsWith('set-')) return set(target, keys, value);
  const before = keys.reduce<unknown>(below, target.document);
  const list: unknown[] = Array.isArray(before) ? before : [];
  const isThere = args['unique'] === true && list.some((each) => textOf(each) === textOf(value));
  if (!isThere) set(target, keys, [...list, value]);
}

/** Returns the node, what was found beside its inventory, or one of its ports: by `port_id`, its UUID or MAC address. */
function targetOf({ op, args }: RuleCall, draft: Draft, subject: RuleSubject): Target | undefined {
  if (op.endsWith('-plugin-data')) return draft.pluginData;
  if (!op.endsWith('-port-attribute')) return draft.node;
  const id = textOf(fillIn(args['port_id'], subject)).toLowerCase();
  const port = draft.ports.find(({ uuid, address }) => uuid === id || address === id);
  if (!port) draft.fault ??= `${op}: port_id must be the UUID or MAC address of one of the node's ports; it is ${id}`;
  return port;
}

const unsafeKeys: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * Splits a path, `/driver_info/ipmi_username` or `driver_info.ipmi_username`, as Ironic takes them. Only the rule's own text
 * makes levels: a value that a machine has reported fills in one key.
 */
function keysOf(path: unknown, subject: RuleSubject, written: unknown): string[] {
  if (Array.isArray(path)) return path.map((key) => textOf(fillIn(key, subject)));
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

/** Writes a JSON pointer, with RFC 6901's escapes. */
function pointerOf(keys: readonly string[]): string {
  return keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** Sets a value, and makes the objects that lead to it. */
function set({ document, patch }: Target, keys: readonly string[], value: unknown): void {
  let parent = document;
  keys.slice(0, -1).forEach((key, index) => {
    const found = below(parent, key);
    if (typeof found !== 'object' || found === null) {
      parent[key] = {};
      patch.push({ op: 'add', path: pointerOf(keys.slice(0, index + 1)), value: {} });
    }
    parent = parent[key] as Document;
  });
  parent[keys.at(-1) ?? ''] = value;
  patch.push({ op: 'add', path: pointerOf(keys), value });
}

/** Removes a value; one that is not there is as good as removed. */
function remove({ document, patch }: Target, keys: readonly string[]): void {
  const parent = keys.slice(0, -1).reduce<unknown>(below, document) as Document | undefined;
  const last = keys.at(-1) ?? '';
  const found = below(parent, last);
  if (parent === undefined || found === undefined || found === null) return;
  delete parent[last];
  patch.push({ op: 'remove', path: pointerOf(keys) });
}
