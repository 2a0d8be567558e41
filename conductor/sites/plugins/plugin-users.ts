import type { Queryable, Transaction } from '#conductor/db/open.ts';
import { findOpenAction } from '#conductor/sites/actions/action-store.ts';
import { isMapping } from '#conductor/sites/documents/site-document.ts';
import { deletePlugin, type PluginKey } from '#conductor/sites/plugins/plugin-store.ts';
import { readRoles } from '#conductor/sites/revisions/read-roles.ts';
import { listRevisionDocuments } from '#conductor/sites/revisions/revision-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** The document by which a site has a plugin. */
const pluginSchema = 'baton/Plugin/v1';

/**
 * Forgets a plugin that nobody needs.
 * @throws AppError `not_found`; `conflict` while what is committed names it, or an action runs, whose flows may need it
 */
export async function removePlugin(tx: Transaction, key: PluginKey): Promise<void> {
  const told = `plugin ${key.name} ${key.version}`;
  const action = await findOpenAction(tx);
  if (action) throw new AppError('conflict', `${told} stays while action ${action.id} (${action.name}) runs`);
  const document = await findPluginUser(tx, key);
  if (document !== undefined) {
    throw new AppError('conflict', `${told} stays while the committed documents name it: ${pluginSchema} ${document}`);
  }
  if (!(await deletePlugin(tx, key))) throw new AppError('not_found', `there is no ${told}`);
}

/** The committed document that names it. */
async function findPluginUser(db: Queryable, { name, version }: PluginKey): Promise<string | undefined> {
  const committed = (await readRoles(db)).get('committed');
  if (committed === undefined) return undefined;
  const documents = await listRevisionDocuments(db, committed);
  const user = documents.find(({ schema, name: own, data }) => {
    if (schema !== pluginSchema || !isMapping(data)) return false;
    return (data['name'] ?? own) === name && String(data['version']) === version;
  });
  return user?.name;
}
