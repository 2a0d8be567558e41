import { nameSome } from '#shared/name-some.ts';

const mark = 'the documents say something else by now';
const namedNodes = 5;

/** What brings such a node in line; its disks are wiped, as the action's parameters say. */
export const renewal = 'redeploy_server with target-revision=committed deploys it anew';

/** Of a node that is left as it was deployed. Pure. */
export function tellOutdated(revisionId: number): string {
  return `it was deployed already, from revision ${revisionId}; ${mark}: ${renewal}`;
}

/** Whether a node's remark is that one. Pure. */
function isOutdated(remark: string | null | undefined): boolean {
  return remark?.includes(mark) === true;
}

/** `2 nodes stay as they were deployed although their documents differ: n1, n2`; nothing of none. Pure. */
export function tellAllOutdated(
  nodes: Iterable<{ readonly name: string; readonly status: string; readonly reason?: string | null | undefined }>,
): string[] {
  const names = [...nodes]
    .filter(({ status, reason }) => status === 'success' && isOutdated(reason))
    .map(({ name }) => name);
  if (names.length === 0) return [];
  const listed = nameSome(names, namedNodes);
  const whose = names.length === 1 ? 'node stays as it was' : 'nodes stay as they were';
  const documents = names.length === 1 ? 'its documents differ' : 'their documents differ';
  return [`${names.length} ${whose} deployed although ${documents}: ${listed} (${renewal})`];
}
