import { z } from 'zod';
import { States } from '#conductor/api/resources.ts';
import { requestProvision } from '#conductor/flows/request/request-provision.ts';
import { redactedValue } from '#conductor/http/nodes/node-queries.ts';
import { checkProvisionKeys } from '#conductor/http/nodes/provision-keys.ts';
import { requestedSteps, stepLists } from '#conductor/http/nodes/step-lists.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, originOf, routesOf } from '#conductor/http/routing/define-routes.ts';
import { requireVersion } from '#conductor/http/routing/versions.ts';
import { type PowerTarget, powerTargets } from '#conductor/model/power-and-boot.ts';
import {
  legalVerbs,
  type ProvisionState,
  type ProvisionVerb,
  provisionVerbs,
} from '#conductor/model/provision-states.ts';
import { requestPower } from '#conductor/nodes/change/request-targets.ts';
import { isForeignTo } from '#conductor/nodes/node-ownership.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { apiTime, shownState } from '#conductor/nodes/node-view.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf('node states');

const show = route.get(
  '/v1/nodes/{node}/states',
  'Show where the node is and where it is going',
  answers(200, 'the states', States),
);

const PowerBody = z.strictObject({
  target: z.string(),
  timeout: z
    .number()
    .int()
    .min(1, 'timeout has to be positive integer')
    .max(86_400, 'timeout has to be at most 86400 seconds, a day')
    .nullish(),
});

const setPower = route.put(
  '/v1/nodes/{node}/states/power',
  'Ask for a power action',
  answers(202, 'accepted; the state changes later'),
  { limits: 'usual', body: PowerBody },
);

const ProvisionBody = z.strictObject({
  target: z.string(),
  ...stepLists,
  configdrive: z.union([z.string(), z.record(z.string(), z.unknown())]).nullish(),
  rescue_password: z.string().min(1, 'must not be empty').nullish(),
  /** Baton's own: of the plan that the operator has read. */
  plan_hash: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be the 64 hex digits that the plan has as its hash')
    .nullish(),
  /** Baton's own: the disks are wiped, with proof, in place of automated cleaning. */
  wipe: z.strictObject({ preserve_local_storage: z.boolean().default(false) }).nullish(),
});

const provision = route.put(
  '/v1/nodes/{node}/states/provision',
  'Ask for a provision state',
  answers(202, 'accepted; target_provision_state is set'),
  { limits: 'provision', body: ProvisionBody },
);

function isVerb(target: string): target is ProvisionVerb {
  return Object.hasOwn(provisionVerbs, target);
}

/** Microversions since which an abort leaves these states, later than `abort` itself. */
const abortVersions: Readonly<Partial<Record<ProvisionState, number>>> = { 'inspect wait': 41, 'wait call-back': 110 };

/** @throws AppError `not_acceptable` in a state that the version in use can't abort. */
function checkAbort(state: ProvisionState, version: number): void {
  requireVersion(version, abortVersions[state] ?? 0, `target 'abort' in '${state}'`);
}

const softPowerVersion = 27;

/** Serves `/v1/nodes/{node}/states`: show, power, provision. */
export function nodeStateRoutes(app: ApiApp, context: HttpContext): void {
  app.openapi(show, async (c) => {
    const node = await getNode(context.db, c.req.valid('param').node);
    const version = c.get('version');
    return c.json({
      power_state: node.powerState,
      target_power_state: node.targetPowerState,
      provision_state: shownState(node.provisionState, c.get('version')),
      target_provision_state: node.targetProvisionState,
      provision_updated_at: apiTime(node.provisionUpdatedAt),
      last_error: isForeignTo(c.get('caller'), node) ? redactedValue('last_error') : node.lastError,
      console_enabled: node.consoleEnabled,
      ...(version >= 12 ? { raid_config: node.raidConfig, target_raid_config: node.targetRaidConfig } : {}),
      ...(version >= 75 ? { boot_mode: node.bootMode, secure_boot: node.secureBoot } : {}),
    });
  });

  app.openapi(setPower, async (c) => {
    const { target, timeout } = c.req.valid('json');
    const ident = c.req.valid('param').node;
    const version = c.get('version');
    const node = await getNode(context.db, ident);
    const known: PowerTarget | undefined = powerTargets.find((each) => each === target);
    if (!known) {
      throw new AppError(
        'invalid_argument',
        `The requested action "${target}" can not be performed on node "${ident}" while it is in state ` +
          `"${node.powerState}"; the targets are ${powerTargets.join(', ')}.`,
      );
    }
    if (known.startsWith('soft')) requireVersion(version, softPowerVersion, `target '${known}'`);
    if (typeof timeout === 'number') requireVersion(version, softPowerVersion, "'timeout'");
    await requestPower(context, node.uuid, {
      target: known,
      timeoutSeconds: timeout ?? undefined,
      caller: c.get('caller'),
    });
    c.header('Location', `${originOf(c)}/v1/nodes/${ident}/states`);
    return c.body(null, 202);
  });

  app.openapi(provision, async (c) => {
    const body = c.req.valid('json');
    const ident = c.req.valid('param').node;
    const node = await getNode(context.db, ident);
    if (!isVerb(body.target)) {
      throw new AppError(
        'invalid_argument',
        `The requested action "${body.target}" can not be performed on node "${node.uuid}" while it is in state ` +
          `"${node.provisionState}". Possible now: ${legalVerbs(node.provisionState, node.fault).join(', ')}.`,
      );
    }
    checkProvisionKeys(body, body.target, c.get('version'));
    if (body.target === 'abort') checkAbort(node.provisionState, c.get('version'));
    await requestProvision(context, node, {
      verb: body.target,
      caller: c.get('caller'),
      ...(body.configdrive ? { configDrive: body.configdrive } : {}),
      ...(await requestedSteps(context, body, {
        nodeUuid: node.uuid,
        caller: c.get('caller'),
        version: c.get('version'),
      })),
      planHash: body.plan_hash ?? undefined,
      rescuePassword: body.rescue_password ?? undefined,
      wipe: body.wipe ? { preserveLocalStorage: body.wipe.preserve_local_storage } : undefined,
    });
    c.header('Location', `${originOf(c)}/v1/nodes/${ident}/states`);
    return c.body(null, 202);
  });
}
