import { isDeepStrictEqual } from 'node:util';
import type { Remark } from '#conductor/model/remarks/remark.ts';
import { newRemark } from '#conductor/model/remarks/remark-words.ts';
import { countOf, type OutLimit } from '#conductor/model/site/rollout.ts';
import type { Decision } from '#conductor/model/site/site-run.ts';
import { hasEnded, isBegunHere, isOut, isUntouched } from '#conductor/sites/strategy/rollout/begun-here.ts';
import { type GateScene, lookAtGates } from '#conductor/sites/strategy/rollout/look-at-gates.ts';
import { describeWindow, isClosed } from '#conductor/sites/strategy/rollout/window.ts';

/** A group under way, as its rollout sees it. */
interface RolloutScene extends GateScene {
  /** Canaries that are no longer in service, with the reason. */
  readonly outOfService: ReadonlyMap<string, string>;
}

/** Result of a look at a group's turn. */
export interface Turns {
  /** Nodes that may be begun now, in order. */
  readonly nodes: readonly string[];
  readonly decisions: readonly Decision[];
}

/** Part of the group that may be begun, and the reason why no more of it is. */
interface Part {
  readonly nodes: readonly string[];
  readonly waits?: Remark;
}

/**
 * Decides which nodes of a group may be begun now: within its window, canaries before all others, batch by batch, within
 * its limits of nodes that are out, while its health gates are good. Nodes that turn out to be deployed already count for
 * nothing. Pure.
 * @returns decisions: the canaries' state, and the reason for waiting where it has changed
 */
export function takeTurns(scene: RolloutScene): Turns {
  const { group, rollout } = scene;
  const name = group.definition.name;
  const untouched = group.members.filter((member) => isUntouched(scene.nodeOf(member)));
  const canaries = lookAtCanaries(scene);
  if (canaries?.lost !== undefined) {
    const { lost } = canaries;
    const reason = newRemark('canary-lost', { node: lost, why: scene.outOfService.get(lost) ?? '' });
    return { nodes: [], decisions: [{ kind: 'pause', group: name, reason, lost }] };
  }
  const { verdict, decisions } = gatesNow(scene);
  if (!verdict.isGood && verdict.pauses) {
    return { nodes: [], decisions: [...decisions, { kind: 'pause', group: name, reason: verdict.why }] };
  }
  const noted = [...decisions, ...(canaries?.noted ?? [])];
  const free = untouched.length === 0 ? { nodes: [] } : withinRules(scene, untouched, canaries);
  // a gate that is only held keeps those that could begin; one that is not good is named whatever else holds
  const isKept = !verdict.isGood && untouched.length > 0 && (free.nodes.length > 0 || verdict.why.code !== 'gate-held');
  const part: Part = isKept ? { nodes: [], waits: verdict.why } : free;
  const isStuck = part.nodes.length === 0 && part.waits?.code === 'rollout-out' && !isAnyAtWork(scene);
  if (isStuck) return { nodes: [], decisions: [...noted, { kind: 'pause', group: name, reason: stuck(scene) }] };
  if (isDeepStrictEqual(part.waits, rollout.waits)) return { nodes: part.nodes, decisions: noted };
  const { waits } = part;
  const wait: Decision = { kind: 'wait', group: name, ...(waits === undefined ? {} : { reason: waits }) };
  return { nodes: part.nodes, decisions: [...noted, wait] };
}

function withinRules(scene: RolloutScene, untouched: readonly string[], canaries: Canaries | undefined): Part {
  const { window } = scene.group.definition;
  if (window && isClosed(scene.group, scene.now)) {
    return { nodes: [], waits: newRemark('rollout-window', { opens: describeWindow(window) }) };
  }
  const first = canaries?.first ?? nextOfBatch(scene, untouched);
  const allowed = withinLimits(scene, first.nodes === undefined ? untouched : untouched.slice(0, first.nodes));
  const waits = allowed.waits ?? (allowed.nodes.length < untouched.length ? first.waits : undefined);
  return { nodes: allowed.nodes, ...(waits === undefined ? {} : { waits }) };
}

/** Judges the gates now; while the window is closed nothing begins, and nobody asks them. */
function gatesNow(scene: RolloutScene): ReturnType<typeof lookAtGates> {
  return scene.group.definition.health && isClosed(scene.group, scene.now)
    ? { verdict: { isGood: true }, decisions: [] }
    : lookAtGates(scene);
}

/** Number of nodes that may be begun; absent = all. */
interface Share {
  readonly nodes?: number;
  readonly waits?: Remark;
}

/** State of a group's canaries, until they have passed. */
interface Canaries {
  readonly noted?: readonly Decision[];
  /** Absent once they have passed. */
  readonly first?: Share;
  /** One that is no longer in service. */
  readonly lost?: string;
}

/** @returns `undefined` of a group without canaries, or whose have passed */
function lookAtCanaries({ group, rollout, nodeOf, now, outOfService }: RolloutScene): Canaries | undefined {
  const { canary } = group.definition;
  if (!canary || rollout.canariesPassed === true) return undefined;
  const begun = group.members.filter((name) => isBegunHere(nodeOf(name)));
  const isCanary = (name: string): boolean => nodeOf(name).status !== 'failure' && !rollout.excused.includes(name);
  const living = begun.filter(isCanary).slice(0, canary.nodes);
  const next = group.members.filter((name) => isUntouched(nodeOf(name))).slice(0, canary.nodes - living.length);
  const nodes = [...living, ...next];
  if (nodes.length === 0) return undefined;
  if (nodes.some((name) => nodeOf(name).status !== 'success')) {
    const waits = newRemark('canaries-begun', { nodes, seconds: canary.stay_seconds });
    return { first: { nodes: next.length, waits } };
  }
  const lost = nodes.find((name) => outOfService.has(name));
  if (lost !== undefined) return { lost };
  const { name: groupName } = group.definition;
  const since = rollout.watched?.since ?? now;
  if (now >= since + canary.stay_seconds * 1000) {
    return { noted: [{ kind: 'canaries', group: groupName, are: 'passed' }] };
  }
  const waits = newRemark('canaries-watched', {
    nodes,
    since: new Date(since).toISOString(),
    seconds: canary.stay_seconds,
  });
  const noted: Decision[] =
    rollout.watched === undefined ? [{ kind: 'canaries', group: groupName, are: 'in service', nodes }] : [];
  return { noted, first: { nodes: 0, waits } };
}

/** The rest of the batch that is under way, or the next one when all nodes of it have ended. */
function nextOfBatch({ group, nodeOf }: RolloutScene, untouched: readonly string[]): Share {
  const { batch, canary } = group.definition;
  if (!batch) return {};
  const begun = group.members.filter((name) => isBegunHere(nodeOf(name)));
  const atWork = begun.filter((name) => !hasEnded(nodeOf(name))).length;
  const sizes = batch.map((size) => countOf(size, group.members.length));
  // canaries that failed and their successors are no batch either
  let end = Math.min(canary?.nodes ?? 0, begun.length);
  for (let index = 0; end <= begun.length; index += 1) {
    if (end === begun.length && atWork > 0) {
      const size = sizes[Math.max(0, Math.min(index, sizes.length) - 1)] ?? 1;
      return { nodes: 0, waits: newRemark('rollout-batch', { size, atWork }) };
    }
    end += sizes[Math.min(index, sizes.length - 1)] ?? 1;
    if (end > begun.length) {
      const nodes = Math.min(end - begun.length, untouched.length);
      return {
        nodes,
        waits: newRemark('rollout-batch', {
          size: sizes[Math.min(index, sizes.length - 1)] ?? 1,
          atWork: atWork + nodes,
        }),
      };
    }
  }
  return {};
}

/** Nodes of the part, in order, that no limit of nodes out forbids. */
function withinLimits(scene: RolloutScene, part: readonly string[]): Part {
  const limits = (scene.group.definition.max_unavailable ?? []).map((limit) => domainsOf(scene, limit));
  const nodes: string[] = [];
  let waits: Remark | undefined;
  for (const name of part) {
    const full = limits.find((limit) => limit.out(name) >= limit.most(name));
    if (full === undefined) {
      for (const limit of limits) limit.add(name);
      nodes.push(name);
    } else waits ??= newRemark('rollout-out', { where: full.where(name), out: full.out(name), most: full.most(name) });
  }
  return { nodes, ...(waits === undefined ? {} : { waits }) };
}

/** Counts of a limit by domain. */
interface Domains {
  readonly where: (name: string) => string;
  readonly out: (name: string) => number;
  readonly most: (name: string) => number;
  readonly add: (name: string) => void;
}

function domainsOf({ group, rollout, nodeOf }: RolloutScene, { nodes, per }: OutLimit): Domains {
  const names = per === undefined ? undefined : rollout.domains[per];
  const domain = new Map(group.members.map((name, index) => [name, names?.[index] ?? '']));
  const out = new Map<string, number>();
  const size = new Map<string, number>();
  const raise = (counts: Map<string, number>, key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);
  for (const [name, key] of domain) {
    raise(size, key);
    if (isOut(nodeOf(name), rollout.excused.includes(name))) raise(out, key);
  }
  const keyOf = (name: string): string => domain.get(name) ?? '';
  return {
    where: (name) => (per === undefined ? 'the group' : describeDomain(per, keyOf(name))),
    out: (name) => out.get(keyOf(name)) ?? 0,
    most: (name) => countOf(nodes, size.get(keyOf(name)) ?? 0),
    add: (name) => raise(out, keyOf(name)),
  };
}

/** Nodes whose documents do not say share one domain: nobody knows that they are apart. */
function describeDomain(per: string, domain: string): string {
  const kind = per === 'rack' ? 'rack' : per.slice('label:'.length);
  return domain === '' ? `nodes without ${kind}` : `${kind} ${domain}`;
}

function stuck({ group, rollout, nodeOf }: RolloutScene): Remark {
  const failed = group.members.filter((name) => isOut(nodeOf(name), rollout.excused.includes(name)));
  return newRemark('rollout-stuck', { nodes: failed });
}

function isAnyAtWork({ group, nodeOf }: RolloutScene): boolean {
  return group.members.some((name) => nodeOf(name).work !== undefined || nodeOf(name).status === 'prepared');
}
