import { nameSome } from '#shared/name-some.ts';

const mark = 'the documents say something else by now';
const namedNodes = 5;

/** What brings such a node in line; its disks are wiped, as the action's parameters say. */
export const renewal = 'redeploy_server with target-revision=committed deploys it anew';

/** What brings a deployed node in line, the gentlest first. */
const remedies = [
  'update_site brings it in line',
  'relabel_nodes brings it in line, without a deploy',
  renewal,
] as const;
type Remedy = (typeof remedies)[number];

function remedyOf(what: string, all: readonly string[]): Remedy {
  if (/^(properties\/rack|extra\/.*|traits)$/.test(what)) return remedies[1];
  // with another driver the whole access is another, and of a node in service the driver stays
  return what === 'driver_info' && !all.includes('driver') ? remedies[0] : renewal;
}

/**
 * Of a node that is left as it was deployed: from which revision, what differs, and which action changes that. Pure.
 * @param differs as `nameOutdated` has it, not empty
 */
export function tellOutdated(revisionId: number, differs: readonly string[]): string {
  const parts = remedies.flatMap((remedy) => {
    const changed = differs.filter((what) => remedyOf(what, differs) === remedy);
    return changed.length > 0 ? [`${changed.join(', ')} (${remedy})`] : [];
  });
  return `it was deployed already, from revision ${revisionId}; ${mark}: ${parts.join('; ')}`;
}

/** What a node's remark tells of one remedy: `properties/rack, traits`. `undefined` = nothing. */
function outdatedBy(remedy: Remedy, remark: string): string | undefined {
  const [, told] = remark.split(`${mark}: `);
  const part = told?.split('; ').find((each) => each.endsWith(`(${remedy})`));
  return part?.slice(0, -remedy.length - 3);
}

/**
 * `2 nodes stay as they were deployed although their documents differ: n1 (driver), n2 (traits): …`, a line for each
 * action that brings them in line; nothing of none. Pure.
 */
export function tellAllOutdated(
  nodes: Iterable<{ readonly name: string; readonly status: string; readonly reason?: string | null | undefined }>,
): string[] {
  const left = [...nodes].filter(({ status }) => status === 'success');
  return remedies.flatMap((remedy) => {
    const named = left.flatMap(({ name, reason }) => {
      const what = outdatedBy(remedy, reason ?? '');
      return what === undefined ? [] : [`${name} (${what})`];
    });
    if (named.length === 0) return [];
    const whose = named.length === 1 ? 'node stays as it was' : 'nodes stay as they were';
    const documents = named.length === 1 ? 'its documents differ' : 'their documents differ';
    return [`${named.length} ${whose} deployed although ${documents}: ${nameSome(named, namedNodes)}: ${remedy}`];
  });
}
