import { createHash } from 'node:crypto';
import { type Answer, errorAnswer, parseObject } from '#test/simulators/redfish/answers.ts';
import {
  biosPath,
  biosSettingsPath,
  createSimulatedBios,
  patchBios,
  resetBiosPath,
} from '#test/simulators/redfish/bios.ts';
import { patchedBoot } from '#test/simulators/redfish/boot-patch.ts';
import { eventAction, subscriptionsPath } from '#test/simulators/redfish/event-service.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import {
  jobQueueAction,
  managerAction,
  managerPath,
  managerResetPath,
  resetKeysPath,
  setClock,
} from '#test/simulators/redfish/manager.ts';
import { reset } from '#test/simulators/redfish/reset-action.ts';
import {
  lampPaths,
  renderResources,
  resetPath,
  type SystemPowerState,
  secureBootPath,
  settingsPath,
  systemPath,
} from '#test/simulators/redfish/resources.ts';
import { accountPath, sessionsPath } from '#test/simulators/redfish/service-resources.ts';
import type { ServiceOptions, ServiceRequest, ServiceState } from '#test/simulators/redfish/service-state.ts';
import { authenticated, createSession, endSession } from '#test/simulators/redfish/sessions.ts';
import { createSimulatedStorage, createVolume, deleteVolume, volumesPath } from '#test/simulators/redfish/storage.ts';
import {
  forgetTasks,
  lookAtListed,
  perform,
  performAtReset,
  pollTask,
  taskResources,
} from '#test/simulators/redfish/tasks.ts';
import {
  createSimulatedFirmware,
  pushPath,
  pushRawUpdate,
  pushUpdate,
  simpleUpdate,
  simpleUpdatePath,
  updateServicePath,
} from '#test/simulators/redfish/update-service.ts';
import {
  createSimulatedMedia,
  mediaMethods,
  patchVirtualMedia,
  unreadableSlot,
  virtualMediaAction,
} from '#test/simulators/redfish/virtual-media.ts';

export interface RedfishService {
  handle(request: ServiceRequest): Promise<Answer>;
  /** Ends every session, as a BMC does when it restarts. */
  dropSessions(): void;
  /** The same; its tasks are forgotten, too. */
  restart(): void;
  readonly sessionCount: () => number;
  /** From now on these are its account's; sessions stay, as they do at BMCs. */
  setAccount(username: string, password: string): void;
}

/** The Redfish service as a function from request to answer (DSP0266), for one machine. */
export function createService(options: ServiceOptions): RedfishService {
  const state: ServiceState = {
    ...options,
    sessions: new Map(),
    tasks: new Map(),
    taskTargets: new Map(),
    biosTasks: new Set(),
    bios: createSimulatedBios(),
    storage: createSimulatedStorage(),
    firmware: createSimulatedFirmware(),
    atWork: { count: 0 },
    subscriptions: new Map(),
    pendingBoot: undefined,
    secureBoot: options.secureBoot ?? false,
    secureBootKeys: 'maker',
    clock: undefined,
    media: createSimulatedMedia(),
    lamps: new Map(),
    transition: undefined,
  };
  return {
    handle: async (request) => {
      const before = [...state.tasks.keys()];
      const answer = await handle(state, request);
      for (const id of request.method === 'GET' ? [] : state.tasks.keys()) {
        if (!before.includes(id) && !state.taskTargets.has(id)) state.taskTargets.set(id, request.path);
      }
      return answer;
    },
    dropSessions: () => state.sessions.clear(),
    restart: () => {
      state.sessions.clear();
      forgetTasks(state);
    },
    sessionCount: () => state.sessions.size,
    setAccount: (username, password) => void Object.assign(state, { username, password }),
  };
}

async function handle(state: ServiceState, request: ServiceRequest): Promise<Answer> {
  const { method } = request;
  const path = request.path.length > 1 ? request.path.replace(/\/$/, '') : request.path;
  if (state.quirks.redirectSlash && method === 'GET' && path === '/redfish/v1' && !request.path.endsWith('/')) {
    return { status: 301, headers: { Location: '/redfish/v1/' } };
  }
  const alias = `/redfish/v1/Systems/${state.quirks.systemAlias}`;
  if (state.quirks.systemAlias !== undefined && (path === alias || path.startsWith(`${alias}/`))) {
    return { status: 307, headers: { Location: `${systemPath}${path.slice(alias.length)}` } };
  }
  const open = ['/redfish', '/redfish/v1', '/redfish/v1/odata'].includes(path);
  const login = method === 'POST' && path === sessionsPath && !state.quirks.noSessions;
  if (!open && !login && !authenticated(state, request)) {
    return errorAnswer(401, 'NoValidSession', { headers: { 'WWW-Authenticate': 'Basic realm="Redfish"' } });
  }
  if (login) return createSession(state, request);
  const monitor = /^\/redfish\/v1\/TaskService\/TaskMonitors\/([^/]+)$/.exec(path)?.[1];
  if (monitor !== undefined) return method === 'GET' ? pollTask(state, monitor) : notAllowed('GET');
  if (path === resetPath) return method === 'POST' ? reset(state, request) : notAllowed('POST');
  if (path === resetBiosPath && !state.quirks.noBios) {
    return method === 'POST' ? resetBios(state, request) : notAllowed('POST');
  }
  const jobQueue = method === 'POST' ? jobQueueAction(state, path, request.body) : undefined;
  if (jobQueue) return jobQueue;
  const mediaAction = method === 'POST' ? virtualMediaAction(state, path, request.body) : undefined;
  if (mediaAction) return mediaAction;
  if (path === pushPath && method === 'POST' && state.quirks.multipartPush) return pushUpdate(state, request);
  if (path === updateServicePath && method === 'POST' && state.quirks.rawPush) return pushRawUpdate(state, request);
  if (path === simpleUpdatePath && state.quirks.simpleUpdate !== 'none') {
    return method === 'POST' ? simpleUpdate(state, request.body) : notAllowed('POST');
  }
  if (path === managerResetPath || path === resetKeysPath) {
    return method === 'POST' ? managerAction(state, path, request.body) : notAllowed('POST');
  }
  const event = eventAction(state, { method, path, body: request.body });
  if (event) return event;
  if (path === volumesPath && method === 'POST') return createVolume(state, request.body);
  const resources = { ...(await resourcesOf(state)), ...taskResources(state) };
  const resource = resources[path];
  if (resource === undefined) {
    return errorAnswer(404, 'ResourceNotFound', { text: `The resource at the URI ${path} was not found.` });
  }
  lookAtListed(state, path);
  const unreadable = unreadableSlot(state.quirks, path);
  if (unreadable) return unreadable;
  const allow = allowed(path, state.quirks);
  if (!allow.includes(method)) return notAllowed(allow.join(', '));
  if (method === 'DELETE' && path.startsWith(`${volumesPath}/`)) return deleteVolume(state, path, request.body);
  if (method === 'DELETE') return endSession(state, path);
  if (method === 'PATCH') return patch(state, request, path, etagOf(resource));
  if (path === biosSettingsPath && state.quirks.unreadableBiosSettings) return errorAnswer(404, 'ResourceNotFound');
  return {
    status: 200,
    headers: { Allow: allow.join(', '), ...etagHeaders(state, resource) },
    body: odata(state, path, resource),
  };
}

function odata(state: ServiceState, path: string, resource: Record<string, unknown>): Record<string, unknown> {
  if (!('@odata.type' in resource)) return resource;
  return {
    '@odata.id': path === '/redfish/v1' ? '/redfish/v1/' : path,
    ...(state.quirks.noEtag ? {} : { '@odata.etag': shownEtag(state, resource) }),
    ...resource,
  };
}

async function resourcesOf(state: ServiceState): Promise<Record<string, Record<string, unknown>>> {
  const boot = await state.machine.getBoot();
  return renderResources({
    quirks: state.quirks,
    username: state.username,
    sessionIds: [...state.sessions.values()],
    system: { power: await shownPower(state), boot },
    pendingBoot: state.pendingBoot ?? boot,
    bios: state.bios,
    storage: state.storage,
    firmware: state.firmware,
    subscriptions: state.subscriptions,
    secureBoot: state.secureBoot,
    secureBootKeys: state.secureBootKeys,
    clock: state.clock,
    media: state.media,
    lamps: state.lamps,
    macs: state.macs ?? [],
  });
}

async function shownPower(state: ServiceState): Promise<SystemPowerState> {
  if (state.transition && Date.now() < state.transition.until) return state.transition.shown;
  return (await state.machine.getPower()) === 'on' ? 'On' : 'Off';
}

function allowed(path: string, quirks: Quirks): readonly string[] {
  const ofMedia = mediaMethods(quirks, path);
  if (ofMedia) return ['GET', 'HEAD', ...ofMedia];
  if (path === sessionsPath) return ['GET', 'HEAD', 'POST'];
  if (path.startsWith(`${sessionsPath}/`)) return ['GET', 'HEAD', 'DELETE'];
  if (lampPaths.includes(path) || (quirks.bootViaSettings && path === settingsPath)) return ['GET', 'HEAD', 'PATCH'];
  if (path === volumesPath || path === subscriptionsPath) return ['GET', 'HEAD', 'POST'];
  if ([volumesPath, subscriptionsPath].some((place) => path.startsWith(`${place}/`))) return ['GET', 'HEAD', 'DELETE'];
  if (path === secureBootPath || path === managerPath) return ['GET', 'HEAD', 'PATCH'];
  if (path === (quirks.noBiosSettings ? biosPath : biosSettingsPath)) return ['GET', 'HEAD', 'PATCH'];
  return ['GET', 'HEAD'];
}

function notAllowed(allow: string): Answer {
  return errorAnswer(405, 'OperationNotAllowed', { headers: { Allow: allow } });
}

function etagOf(resource: Record<string, unknown>): string {
  return createHash('sha1').update(JSON.stringify(resource)).digest('hex').slice(0, 12);
}

function shownEtag(state: ServiceState, resource: Record<string, unknown>): string {
  return `${state.quirks.weakEtagOnly ? 'W/' : ''}"${etagOf(resource)}"`;
}

function etagHeaders(state: ServiceState, resource: Record<string, unknown>): Record<string, string> {
  const etag = shownEtag(state, resource);
  return state.quirks.noEtag ? {} : { ETag: state.quirks.etags === 'quoted twice' ? `"${etag}"` : etag };
}

async function patch(state: ServiceState, request: ServiceRequest, path: string, etag: string): Promise<Answer> {
  const refused = precondition(state, request, etag);
  if (refused) return refused;
  const body = parseObject(request.body);
  if (body === undefined) return errorAnswer(400, 'MalformedJSON');
  if (path === accountPath) return errorAnswer(403, 'InsufficientPrivilege');
  if (path === secureBootPath) {
    const wanted = body['SecureBootEnable'];
    if (typeof wanted !== 'boolean') return errorAnswer(400, 'PropertyValueError');
    const { secureBootPatches: becomes } = state.quirks;
    if (becomes === 'at the reset') return errorAnswer(200, 'Success', { id: 'iLO.2.14.SystemResetRequired' });
    if (becomes === 'ignored') return { status: 204 };
    return perform(state, () => {
      state.secureBoot = wanted;
      return Promise.resolve();
    });
  }
  if (path === managerPath) return setClock(state, body);
  const media = patchVirtualMedia(state, path, body);
  if (media) return media;
  if (path.startsWith(biosPath)) {
    const fault = patchBios(state.bios, body, state.quirks);
    return fault ?? performAtReset(state, () => Promise.resolve());
  }
  const lit = lampPaths.includes(path) ? lampIn(body, state.quirks) : undefined;
  if (lit !== undefined) return perform(state, () => Promise.resolve(void state.lamps.set(path, lit)));
  if (lampPaths.includes(path) && path !== systemPath) return errorAnswer(400, 'PropertyValueError');
  return patchBoot(state, path, body);
}

async function patchBoot(state: ServiceState, path: string, body: Record<string, unknown>): Promise<Answer> {
  const { bootViaSettings, unlinkedSettings, bootPatches } = state.quirks;
  if (path === systemPath && bootViaSettings) {
    if (!unlinkedSettings) return notAllowed('GET, HEAD');
    const text = `Support of this Operation for Boot Properties is moved to FutureState URI(${settingsPath})`;
    return errorAnswer(400, 'PropertyNotWritable', { id: 'Ami.1.0.OperationSupportedInFutureStateURI', text });
  }
  const boot = patchedBoot(body, state.pendingBoot ?? (await state.machine.getBoot()), state.quirks);
  if ('status' in boot) return boot;
  if (bootPatches === 'ignored') return { status: 204 };
  const done = await perform(state, async () => {
    state.counters.bootChanges += 1;
    if (bootViaSettings) state.pendingBoot = boot;
    else await state.machine.setBoot(boot);
  });
  if (bootPatches === 'done') return done;
  const text = 'Unable to modify the attribute because the attribute is read-only and depends on other attributes.';
  return errorAnswer(400, 'PropertyNotWritable', { id: 'IDRAC.1.6.SYS410', text });
}

function precondition(state: ServiceState, request: ServiceRequest, etag: string): Answer | undefined {
  const ifMatch = request.headers['if-match'];
  if (ifMatch === undefined) return state.quirks.requireIfMatch ? errorAnswer(428, 'PreconditionRequired') : undefined;
  if (state.quirks.etags === 'any state alone' && ifMatch !== '*') return errorAnswer(412, 'PreconditionFailed');
  if (state.quirks.rejectIfMatch) return errorAnswer(412, 'PreconditionFailed');
  return ifMatch === `"${etag}"` || ifMatch === '*' ? undefined : errorAnswer(412, 'PreconditionFailed');
}

async function resetBios(state: ServiceState, request: ServiceRequest): Promise<Answer> {
  if (parseObject(request.body) === undefined) return errorAnswer(400, 'MalformedJSON');
  return performAtReset(state, () => {
    state.bios.defaultsPending = true;
    state.bios.pending = {};
    return Promise.resolve();
  });
}

function lampIn(body: Record<string, unknown>, { locationIndicator }: Quirks): string | undefined {
  const { IndicatorLED: led, LocationIndicatorActive: active } = body;
  if (locationIndicator) return typeof active === 'boolean' ? (active ? 'Lit' : 'Off') : undefined;
  return ['Off', 'Lit', 'Blinking'].find((each) => each === led);
}
