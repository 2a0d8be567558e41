import { newRemark, remarkError } from '#conductor/model/remark-words.ts';
import { describeNoRevision, parseRole } from '#conductor/model/revision-roles.ts';
import { errorsIn } from '#conductor/model/site-fault.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { listPlugins, loadPluginTasks, type PluginKey } from '#conductor/sites/plugins/plugin-store.ts';
import type { PluginTasks } from '#conductor/sites/plugins/plugin-task.ts';
import { checkRevision } from '#conductor/sites/revisions/check-revision.ts';
import { readRoles } from '#conductor/sites/revisions/revision-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Whose order is asked for: those named, or those of a revision. */
export interface PluginChoice {
  /** `ntp@1.0,zabbix@2.1` */
  readonly plugins?: string | undefined;
  /** `buffer`, `committed` …, or a revision's number. */
  readonly version?: string | undefined;
}

/**
 * The plugins that are meant: without a word those of the committed revision; where none is committed, the newest version
 * of each that was uploaded.
 * @throws AppError `invalid_argument` for what can't be read, or a revision with faults; `not_found`
 */
export async function choosePlugins(context: SitesContext, choice: PluginChoice): Promise<PluginTasks[]> {
  if (choice.plugins !== undefined && choice.version !== undefined) {
    throw new AppError('invalid_argument', 'plugins and version: one of the two');
  }
  if (choice.plugins !== undefined) return loadPluginTasks(context.db, parseKeys(choice.plugins));
  const revision = await findRevision(context, choice.version);
  if (revision !== undefined) return loadPluginTasks(context.db, await pluginsOf(context, revision));
  const newest = new Map((await listPlugins(context.db)).map(({ name, version }) => [name, version]));
  return loadPluginTasks(
    context.db,
    [...newest].map(([name, version]) => ({ name, version })),
  );
}

function parseKeys(text: string): PluginKey[] {
  return text.split(',').map((each) => {
    const at = each.indexOf('@');
    if (at > 0 && at < each.length - 1) return { name: each.slice(0, at), version: each.slice(at + 1) };
    throw new AppError(
      'invalid_argument',
      `plugins: ${each || 'an empty name'}: it must be NAME@VERSION: the version stands after the @`,
    );
  });
}

async function findRevision({ db }: SitesContext, version: string | undefined): Promise<number | undefined> {
  const roles = await readRoles(db);
  if (version === undefined) return roles.get('committed');
  if (/^\d{1,9}$/.test(version)) return Number(version);
  const role = parseRole(version);
  const id = role && roles.get(role);
  if (id !== undefined) return id;
  throw new AppError(
    role ? 'not_found' : 'invalid_argument',
    role
      ? `version: ${describeNoRevision(role)}`
      : `version: ${JSON.stringify(version)}: it must be buffer, committed, last-site-action, successful-site-action or a revision’s number`,
  );
}

async function pluginsOf(context: SitesContext, revision: number): Promise<readonly PluginKey[]> {
  const { site, faults } = await checkRevision(context, revision);
  if (site) return site.plugins;
  const errors = errorsIn(faults);
  throw remarkError('invalid_argument', newRemark('revision-faults', { revision, faults: errors }), { faults });
}
