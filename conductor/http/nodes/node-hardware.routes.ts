import { z } from 'zod';
import {
  BiosSetting,
  EventLog,
  FirmwareComponent,
  IndicatorAnswer,
  Indicators,
  Sensors,
} from '#conductor/api/node-parts.ts';
import {
  type Indicator,
  type IndicatorInterface,
  indicatorComponents,
  indicatorStates,
  type ManagementInterface,
} from '#conductor/drivers/interfaces.ts';
import { findBiosSetting, listBiosSettings, settingOfRow } from '#conductor/flows/bmc/bios-store.ts';
import { listFirmware } from '#conductor/flows/bmc/firmware-store.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, linksTo, originOf, queryFlag, routesOf } from '#conductor/http/routing/define-routes.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { BiosSettingRow } from '#conductor/kernel/db/schema/node-parts.ts';
import { changeNote, writeChangeNote } from '#conductor/nodes/node-history.ts';
import { withNodeLock } from '#conductor/nodes/node-lock.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf('node management');

const sensors = route.get(
  '/v1/nodes/{node}/sensors',
  "Ask the BMC what its sensors read now (Baton's own)",
  answers(200, 'readings', Sensors),
);

const eventLog = route.get(
  '/v1/nodes/{node}/event_log',
  "Ask the BMC for the newest entries of its system event log, the newest last (Baton's own)",
  answers(200, 'entries', EventLog),
  { query: z.strictObject({ limit: z.coerce.number().int().min(1).max(500).default(50) }) },
);

/** Mounts what the BMC reports about the hardware: read when it is asked for, and not kept. */
export function nodeHardwareRoutes(app: ApiApp, context: HttpContext): void {
  const call = async <Name extends 'getSensors' | 'getEventLog'>(ident: string, name: Name) => {
    const node = await getNode(context.db, ident);
    const { management } = context.drivers.connect(node, { node: node.uuid });
    const offered: ManagementInterface[Name] = management[name];
    if (offered) return offered.bind(management) as NonNullable<ManagementInterface[Name]>;
    const what = name === 'getSensors' ? 'sensors' : 'a system event log';
    throw new AppError('not_supported', `Driver ${node.driver} has no access to ${what}.`);
  };

  app.openapi(sensors, async (c) => {
    const readHardware = await call(c.req.valid('param').node, 'getSensors');
    return c.json({ sensors: [...(await readHardware())] });
  });

  app.openapi(eventLog, async (c) => {
    const readHardware = await call(c.req.valid('param').node, 'getEventLog');
    return c.json({ event_log: [...(await readHardware(c.req.valid('query').limit))] });
  });
}

const indicatorsVersion = 63;
const indicatorsPath = '/v1/nodes/{node}/management/indicators';

const listIndicators = route.get(
  indicatorsPath,
  'List the lamps of the hardware',
  answers(200, 'indicators, called name@component', Indicators),
  { since: indicatorsVersion },
);

const showIndicator = route.get(
  `${indicatorsPath}/{indicator}`,
  'Show the state of an indicator, or list those of a component',
  answers(200, 'state of name@component; indicators of a component', z.union([IndicatorAnswer, Indicators])),
  { since: indicatorsVersion },
);

const setIndicator = route.put(`${indicatorsPath}/{indicator}`, 'Switch an indicator', answers(204, 'done'), {
  since: indicatorsVersion,
  limits: 'usual',
  body: z.strictObject({ state: z.string() }),
});

/** Serves `management/indicators` of a node (Ironic, 1.63). */
export function nodeIndicatorRoutes(app: ApiApp, context: HttpContext): void {
  const find = async (ident: string) => {
    const node = await getNode(context.db, ident);
    const { indicators } = context.drivers.connect(node, { node: node.uuid });
    if (!indicators) throw new AppError('not_supported', `Driver ${node.driver} does not support indicators.`);
    return { node, indicators };
  };

  app.openapi(listIndicators, async (c) => {
    const { node, indicators } = await find(c.req.valid('param').node);
    return c.json({ indicators: (await indicators.list()).map((each) => viewIndicator(originOf(c), node, each)) });
  });

  app.openapi(showIndicator, async (c) => {
    const { node: ident, indicator } = c.req.valid('param');
    const { node, indicators } = await find(ident);
    if (indicator.includes('@')) return c.json({ state: (await findIndicator(indicators, indicator)).state });
    const component = indicatorComponents.find((each) => each === indicator);
    const ofIt = component ? await indicators.list({ component }) : [];
    if (ofIt.length === 0)
      throw new AppError('not_found', `Node ${node.uuid} has no indicators of the component ${indicator}.`);
    return c.json({ indicators: ofIt.map((each) => viewIndicator(originOf(c), node, each)) });
  });

  app.openapi(setIndicator, async (c) => {
    const { node: ident, indicator } = c.req.valid('param');
    const asked = c.req.valid('json').state.toUpperCase();
    const state = indicatorStates.find((each) => each === asked);
    if (!state || state === 'UNKNOWN')
      throw new AppError('invalid_argument', `state: it must be ON, OFF or BLINKING, not '${asked}'.`);
    const { node, indicators } = await find(ident);
    const lamp = await findIndicator(indicators, indicator);
    const note = changeNote(context, c.get('caller'), `indicator ${indicator} is switched ${state}`);
    await withNodeLock(context, node.uuid, async (signal) => {
      await writeChangeNote(context.db, node.uuid, note);
      await indicators.set(lamp, state, { signal });
    });
    return c.body(null, 204);
  });
}

/** @throws AppError `not_found` naming what there is */
async function findIndicator(indicators: IndicatorInterface, ident: string): Promise<Indicator> {
  const component = indicatorComponents.find((each) => ident.endsWith(`@${each}`));
  const all = await indicators.list(component && { component });
  const called = (each: Indicator): string => `${each.name}@${each.component}`;
  const found = all.find((each) => called(each) === ident);
  if (found) return found;
  const names = all.map(called).join(', ');
  throw new AppError('not_found', `There is no indicator ${ident}; there are ${names || 'none'}.`);
}

function viewIndicator(origin: string, { uuid }: NodeRow, { name, component, states }: Indicator) {
  const ident = `${name}@${component}`;
  const links = linksTo(origin, `nodes/${uuid}/management/indicators/${ident}`);
  return { name: ident, component, readonly: false, states: [...states], links };
}

const firmwareRoute = routesOf('node firmware');

const firmware = firmwareRoute.get(
  '/v1/nodes/{node}/firmware',
  'List the versions of the firmware of a node as last read',
  answers(200, 'components', z.strictObject({ firmware: z.array(FirmwareComponent) })),
  { since: 86 },
);

/** Microversion since which a component has the maker, model and serial number of its part. */
const identityVersion = 114;

/** Serves `/v1/nodes/{node}/firmware` (Ironic, 1.86). */
export function nodeFirmwareRoutes(app: ApiApp, { db }: HttpContext): void {
  app.openapi(firmware, async (c) => {
    const { uuid } = await getNode(db, c.req.valid('param').node);
    const known = await listFirmware(db, uuid);
    return c.json({
      firmware: known.map(({ vendor = null, model = null, serial_number = null, ...rest }) =>
        c.get('version') >= identityVersion ? { ...rest, vendor, model, serial_number } : rest,
      ),
    });
  });
}

const biosRoute = routesOf('node BIOS settings');
const biosVersion = 40;
/** `detail`, `fields`, and what the attribute registry says. */
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

const listBios = biosRoute.get(
  '/v1/nodes/{node}/bios',
  'List the BIOS settings of a node as last read',
  answers(200, 'settings, by name', z.strictObject({ bios: z.array(BiosSetting) })),
  { since: biosVersion, query: z.strictObject({ detail: queryFlag, fields: z.string().optional() }) },
);

const showBios = biosRoute.get(
  '/v1/nodes/{node}/bios/{setting}',
  'Show one BIOS setting',
  answers(200, 'the setting, under its name', z.record(z.string(), BiosSetting)),
  { since: biosVersion },
);

/** Serves `/v1/nodes/{node}/bios` (ironic-api.md §3.10). */
export function nodeBiosRoutes(app: ApiApp, context: HttpContext): void {
  app.openapi(listBios, async (c) => {
    const version = c.get('version');
    const fields = listedFields(c.req.valid('query'), version);
    const { node: ident } = c.req.valid('param');
    const { uuid } = await getNode(context.db, ident);
    const rows = await listBiosSettings(context.db, uuid);
    return c.json({ bios: rows.map((row) => viewSetting(row, fields, originOf(c))) });
  });

  app.openapi(showBios, async (c) => {
    const version = c.get('version');
    const { node: ident, setting: name } = c.req.valid('param');
    const { uuid } = await getNode(context.db, ident);
    const row = await findBiosSetting(context.db, uuid, name);
    if (!row) throw new AppError('not_found', `Node ${uuid} doesn't have a BIOS setting '${name}'`);
    const fields = version >= registryVersion ? registryFields : shortFields;
    return c.json({ [name]: viewSetting(row, [...fields, 'created_at', 'updated_at', 'links'], originOf(c)) });
  });
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
