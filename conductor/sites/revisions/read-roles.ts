import type { Queryable } from '#conductor/kernel/db/open.ts';
import { together } from '#conductor/kernel/db/together.ts';
import { type RevisionRole, revisionRoles } from '#conductor/model/revision-roles.ts';
import { findRevisionByRole } from '#conductor/sites/revisions/revision-store.ts';

export async function readRoles(db: Queryable): Promise<ReadonlyMap<RevisionRole, number>> {
  const found = await together(revisionRoles.map((role) => findRevisionByRole(db, role)));
  return new Map(
    revisionRoles.flatMap((role, index) => {
      const revision = found[index];
      return revision ? [[role, revision.id] as const] : [];
    }),
  );
}
