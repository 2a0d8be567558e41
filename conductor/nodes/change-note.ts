import type { Caller } from '#conductor/kernel/caller.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { JsonPatch } from '#conductor/kernel/json-patch.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { actedVia, addHistory } from '#conductor/nodes/node-history.ts';

/** What the history says of an operator's change. Names of fields at most: values may be secrets. */
export interface ChangeNote {
  readonly event: string;
  readonly conductor: string;
  readonly user: string | undefined;
  readonly project: string | undefined;
}

export function changeNote(
  { config }: Pick<NodesContext, 'config'>,
  { user, project, via }: Pick<Caller, 'user' | 'project' | 'via'>,
  event: string,
): ChangeNote {
  return { event: actedVia(event, { via }), conductor: config.conductorName, user, project };
}

/** @param uuid of the entry, where it is written again later */
export function writeChangeNote(db: Queryable, nodeUuid: string, note: ChangeNote, uuid?: string): Promise<void> {
  return addHistory(db, { nodeUuid, severity: 'INFO', eventType: 'change', ...note, ...(uuid ? { uuid } : {}) });
}

/** More are only counted. */
const namedPaths = 20;

/** `changed /name, /driver_info/redfish_address`: where, never what. */
export function describePatch(patch: JsonPatch): string {
  const paths = [...new Set(patch.map(({ path }) => path))];
  const more = paths.length > namedPaths ? ` and ${paths.length - namedPaths} more` : '';
  return `changed ${paths.slice(0, namedPaths).join(', ') || 'nothing'}${more}`;
}
