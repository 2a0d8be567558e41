import { type Remark, withQuoted } from '#conductor/model/remarks/remark.ts';
import { nameSome } from '#shared/words.ts';

const namedNodes = 5;

/** The action that brings such a node in line; its disks are wiped, as the action's parameters say. */
export const renewalAdvice = 'redeploy_server with target-revision=committed redeploys it';

/** Actions that bring a deployed node in line, the gentlest first. */
const remedies = [
  'update_site brings it in line',
  'relabel_nodes brings it in line, without a deploy',
  renewalAdvice,
] as const;
type Remedy = (typeof remedies)[number];

function remedyOf(what: string, all: readonly string[]): Remedy {
  if (/^(properties\/rack|extra\/.*|traits)$/.test(what)) return remedies[1];
  // with another driver the whole access is another, and of a node in service the driver stays
  return what === 'driver_info' && !all.includes('driver') ? remedies[0] : renewalAdvice;
}

/** Lists the fields that this action would change, `properties/rack, traits`. `undefined` = nothing. */
function changedBy(remedy: Remedy, differs: readonly string[]): string | undefined {
  const changed = differs.filter((what) => remedyOf(what, differs) === remedy);
  return changed.length === 0 ? undefined : changed.join(', ');
}

/** Describes what differs, each with the action that changes it. Pure. @param differs not empty */
export function describeDifferences(differs: readonly string[]): string {
  const parts = remedies.map((remedy) => ({ remedy, what: changedBy(remedy, differs) }));
  return parts.flatMap(({ remedy, what }) => (what === undefined ? [] : [`${what} (${remedy})`])).join('; ');
}

function differencesIn(remark: Remark | null | undefined): readonly string[] {
  const outdated = remark ? withQuoted(remark).find(({ code }) => code === 'outdated') : undefined;
  const differs = outdated?.arguments['differs'];
  return Array.isArray(differs) ? (differs as readonly string[]) : [];
}

/** Returns whether the node was left as it had been deployed, although its documents differ. Pure. */
export function isOutdated(remark: Remark | null | undefined): boolean {
  return differencesIn(remark).length > 0;
}

/**
 * Writes `2 nodes stay as they were deployed although their documents differ: n1 (driver), n2 (traits): …`, a line for each
 * action that brings them in line; nothing of none. Pure.
 */
export function describeOutdated(
  nodes: Iterable<{ readonly name: string; readonly status: string; readonly remark: Remark | null | undefined }>,
): string[] {
  const left = [...nodes].filter(({ status }) => status === 'success');
  return remedies.flatMap((remedy) => {
    const named = left.flatMap(({ name, remark }) => {
      const what = changedBy(remedy, differencesIn(remark));
      return what === undefined ? [] : [`${name} (${what})`];
    });
    if (named.length === 0) return [];
    const whose = named.length === 1 ? 'node stays as it was' : 'nodes stay as they were';
    const documents = named.length === 1 ? 'its documents differ' : 'their documents differ';
    return [`${named.length} ${whose} deployed although ${documents}: ${nameSome(named, namedNodes)}: ${remedy}`];
  });
}
