import { z } from 'zod';
import { BiosSetting } from '#conductor/api/node-parts.ts';
import { findBiosSetting, listBiosSettings, settingOfRow } from '#conductor/flows/bios/bios-store.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, queryFlag, routesOf } from '#conductor/http/define-routes.ts';
import { linksTo, originOf } from '#conductor/http/links.ts';
import { requireEndpoint } from '#conductor/http/versions.ts';
import type { BiosSettingRow } from '#conductor/kernel/db/schema/bios-setting.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf('node BIOS settings');
const biosVersion = 40;
/** `detail`, `fields`, and what the attribute registry tells. */
const registryVersion = 74;

const shortFields = ['name', 'value'];
/** All of Ironic's, in its order of words. */
const registryFields = [
  ...shortFields,
  'attribute_type',
  'allowable_values',
  'lower_bound',
  'max_length',
  'min_length',
  'read_only',
  'reset_required',
  'unique',
  'upper_bound',
];
const knownFields = [...registryFields, 'created_at', 'updated_at', 'links'];

const list = route.get(
  '/v1/nodes/{node}/bios',
  'List the BIOS settings of a node as last read',
  answers(200, 'settings, by name', z.strictObject({ bios: z.array(BiosSetting) })),
  { query: z.strictObject({ detail: queryFlag, fields: z.string().optional() }) },
);

const show = route.get(
  '/v1/nodes/{node}/bios/{setting}',
  'Show one BIOS setting',
  answers(200, 'the setting, under its name', z.record(z.string(), BiosSetting)),
);

/** `/v1/nodes/{node}/bios` (ironic-api.md §3.10). */
export function nodeBiosRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();

  app.openapi(list, async (c) => {
    const version = c.get('version');
    requireEndpoint(version, biosVersion);
    const fields = listedFields(c.req.valid('query'), version);
    const { node: ident } = c.req.valid('param');
    const { uuid } = await getNode(context.db, ident);
    const rows = await listBiosSettings(context.db, uuid);
    return c.json({ bios: rows.map((row) => viewSetting(row, fields, originOf(c))) });
  });

  app.openapi(show, async (c) => {
    const version = c.get('version');
    requireEndpoint(version, biosVersion);
    const { node: ident, setting: name } = c.req.valid('param');
    const { uuid } = await getNode(context.db, ident);
    const row = await findBiosSetting(context.db, uuid, name);
    if (!row) throw new AppError('not_found', `Node ${uuid} doesn't have a BIOS setting '${name}'`);
    const fields = version >= registryVersion ? registryFields : shortFields;
    return c.json({ [name]: viewSetting(row, [...fields, 'created_at', 'updated_at', 'links'], originOf(c)) });
  });

  return app;
}

/** @throws AppError `invalid_argument` (Ironic answers 400 to both, also when the version is too old for them). */
function listedFields(
  query: { readonly detail?: boolean | undefined; readonly fields?: string | undefined },
  version: number,
): readonly string[] {
  const { detail, fields } = query;
  for (const [name, value] of Object.entries({ detail, fields })) {
    if (value !== undefined && version < registryVersion) {
      throw new AppError('invalid_argument', `Invalid query parameter ?${name}=${value} received.`);
    }
  }
  if (fields === undefined) return [...(detail ? registryFields : shortFields), 'created_at', 'updated_at', 'links'];
  if (detail) throw new AppError('invalid_argument', "Can't fetch a subset of fields with 'detail' set.");
  const names = fields.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !knownFields.includes(name));
  if (unknown.length > 0) {
    throw new AppError(
      'invalid_argument',
      `fields: a BIOS setting has no field ${unknown.join(', ')}; it has ${knownFields.join(', ')}`,
    );
  }
  return [...names, 'links'];
}

function viewSetting(row: BiosSettingRow, fields: readonly string[], origin: string): Record<string, unknown> {
  const whole: Readonly<Record<string, unknown>> = {
    ...settingOfRow(row),
    created_at: apiTime(row.createdAt),
    updated_at: apiTime(row.updatedAt),
    links: linksTo(origin, `nodes/${row.nodeUuid}/bios/${encodeURIComponent(row.name)}`),
  };
  return Object.fromEntries(fields.map((field) => [field, whole[field]]));
}
