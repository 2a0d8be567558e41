import { z } from 'zod';
import { Plugin, PluginDetail, PluginOrder } from '#conductor/api/sites.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, routesOf } from '#conductor/http/routing/define-routes.ts';
import { airshipPath, airshipQuery } from '#conductor/http/sites/airship-values.ts';
import { orderTasks } from '#conductor/sites/plugins/order-tasks.ts';
import { isFor, pluginFault } from '#conductor/sites/plugins/plugin-steps.ts';
import {
  getPlugin,
  listPlugins,
  viewOrder,
  viewPlugin,
  viewPluginDetail,
} from '#conductor/sites/plugins/plugin-store.ts';
import { PluginName, PluginUpload, PluginVersion, uploadPlugin } from '#conductor/sites/plugins/upload-plugin.ts';
import { choosePlugins } from '#conductor/sites/revisions/check-revision.ts';
import { removePlugin } from '#conductor/sites/revisions/find-users.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf("site plugins (Baton's own)");
const path = `${airshipPath}/plugins` as const;
const onePath = `${path}/{name}/{version}` as const;
const PluginParams = z.object({ name: PluginName, version: PluginVersion });

const list = route.get(
  path,
  'List the plugins that were uploaded, with their tasks',
  answers(200, 'plugins, by name', z.strictObject({ plugins: z.array(Plugin) })),
);

const upload = route.post(
  path,
  'Upload a plugin: its tasks, and the files that they need',
  {
    ...answers(201, 'the plugin', PluginDetail),
    ...answers(200, 'it was there already', PluginDetail),
    400: { description: 'all that is wrong with it' },
    409: { description: 'that version has another content' },
  },
  { limits: 'plugin', body: PluginUpload },
);

const order = route.get(
  `${path}/order`,
  'Show in which order the tasks of plugins run, with the reason for each place',
  answers(200, 'tasks in order, and what the ranges of postfixes are for', PluginOrder),
  {
    query: airshipQuery({
      plugins: z.string().optional().describe('NAME@VERSION, with commas between'),
      version: z.string().optional().describe('those of a revision: buffer, committed, a number; default committed'),
      role: z.string().optional().describe('only what a node with this tag runs'),
    }),
  },
);

const show = route.get(
  onePath,
  'Show a plugin',
  answers(200, 'the plugin, with the names of its files', PluginDetail),
  { params: PluginParams },
);

const remove = route.delete(
  onePath,
  'Forget a plugin that neither the committed documents, nor deployed nodes, nor work under way need',
  { ...answers(204, 'gone'), 409: { description: 'it is needed' } },
  { params: PluginParams },
);

/** Serves `/api/v1.0/plugins`. */
export function pluginRoutes(app: ApiApp, context: HttpContext): void {
  const { db, log } = context;

  app.openapi(list, async (c) => c.json({ plugins: (await listPlugins(db)).map(viewPlugin) }));

  app.openapi(upload, async (c) => {
    const { row, isNew } = await uploadPlugin(db, c.req.valid('json'), c.get('caller').user);
    const { name, version } = row;
    if (isNew) log.info({ plugin: { name, version }, user: c.get('caller').user }, 'plugin stored');
    return c.json(viewPluginDetail(row), isNew ? 201 : 200);
  });

  app.openapi(order, async (c) => {
    const { role, ...choice } = c.req.valid('query');
    const { order: tasks, faults } = orderTasks(await choosePlugins(context, choice));
    if (faults.length > 0) {
      throw new AppError('invalid_argument', `no order: ${faults.map(({ message }) => message).join('; ')}`, {
        details: { reason: 'NoOrder', faults: faults.map(pluginFault) },
      });
    }
    return c.json(viewOrder(role === undefined ? tasks : tasks.filter((task) => isFor(task, [role]))));
  });

  app.openapi(show, async (c) => c.json(viewPluginDetail(await getPlugin(db, c.req.valid('param')))));

  app.openapi(remove, async (c) => {
    const plugin = c.req.valid('param');
    await db.transaction((tx) => removePlugin(tx, plugin));
    log.info({ plugin, user: c.get('caller').user }, 'plugin deleted');
    return c.body(null, 204);
  });
}
