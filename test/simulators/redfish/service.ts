import { createHash, randomUUID } from 'node:crypto';
import { type Answer, errorAnswer } from '#test/simulators/redfish/answers.ts';
import {
  biosPath,
  biosSettingsPath,
  bootBios,
  createSimulatedBios,
  patchBios,
  resetBiosPath,
  type SimulatedBios,
} from '#test/simulators/redfish/bios.ts';
import { patchedBoot } from '#test/simulators/redfish/boot-patch.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import type { SimulatedBoot, SimulatedMachine } from '#test/simulators/redfish/machine.ts';
import {
  accountPath,
  renderResources,
  resetPath,
  type SystemPowerState,
  secureBootPath,
  sessionsPath,
  settingsPath,
  systemPath,
} from '#test/simulators/redfish/resources.ts';

interface ServiceRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

/** What happened since the start. */
export interface Counters {
  requests: number;
  logins: number;
  logouts: number;
  powerChanges: number;
  bootChanges: number;
  nmis: number;
}

export interface ServiceOptions {
  readonly machine: SimulatedMachine;
  readonly username: string;
  readonly password: string;
  readonly quirks: Quirks;
  readonly counters: Counters;
}

export interface RedfishService {
  handle(request: ServiceRequest): Promise<Answer>;
  /** Ends every session, as a BMC does when it restarts. */
  dropSessions(): void;
  readonly sessionCount: () => number;
}

interface State extends ServiceOptions {
  readonly sessions: Map<string, string>;
  readonly tasks: Map<string, { polls: number; readonly failed: boolean }>;
  readonly bios: SimulatedBios;
  pendingBoot: SimulatedBoot | undefined;
  secureBoot: boolean;
  transition: { readonly until: number; readonly shown: SystemPowerState } | undefined;
}

/** The Redfish service as a function from request to answer (DSP0266), for one machine. */
export function createService(options: ServiceOptions): RedfishService {
  const state: State = {
    ...options,
    sessions: new Map(),
    tasks: new Map(),
    bios: createSimulatedBios(),
    pendingBoot: undefined,
    secureBoot: false,
    transition: undefined,
  };
  return {
    handle: (request) => handle(state, request),
    dropSessions: () => state.sessions.clear(),
    sessionCount: () => state.sessions.size,
  };
}

async function handle(state: State, request: ServiceRequest): Promise<Answer> {
  const { method } = request;
  const path = request.path.length > 1 ? request.path.replace(/\/$/, '') : request.path;
  if (state.quirks.redirectSlash && method === 'GET' && path === '/redfish/v1' && !request.path.endsWith('/')) {
    return { status: 301, headers: { Location: '/redfish/v1/' } };
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
  const resources = await resourcesOf(state);
  const resource = resources[path];
  if (resource === undefined) {
    return errorAnswer(404, 'ResourceNotFound', { text: `The resource at the URI ${path} was not found.` });
  }
  const allow = allowed(path, state.quirks);
  if (!allow.includes(method)) return notAllowed(allow.join(', '));
  if (method === 'DELETE') return endSession(state, path);
  if (method === 'PATCH') return patch(state, request, path, etagOf(resource));
  return {
    status: 200,
    headers: { Allow: allow.join(', '), ...etagHeaders(state, resource) },
    body: odata(state, path, resource),
  };
}

function odata(state: State, path: string, resource: Record<string, unknown>): Record<string, unknown> {
  if (!('@odata.type' in resource)) return resource;
  return {
    '@odata.id': path === '/redfish/v1' ? '/redfish/v1/' : path,
    ...(state.quirks.noEtag ? {} : { '@odata.etag': shownEtag(state, resource) }),
    ...resource,
  };
}

async function resourcesOf(state: State): Promise<Record<string, Record<string, unknown>>> {
  const boot = await state.machine.getBoot();
  return renderResources({
    quirks: state.quirks,
    username: state.username,
    sessionIds: [...state.sessions.values()],
    system: { power: await shownPower(state), boot },
    pendingBoot: state.pendingBoot ?? boot,
    bios: state.bios,
    secureBoot: state.secureBoot,
  });
}

async function shownPower(state: State): Promise<SystemPowerState> {
  if (state.transition && Date.now() < state.transition.until) return state.transition.shown;
  return (await state.machine.getPower()) === 'on' ? 'On' : 'Off';
}

function allowed(path: string, quirks: Quirks): readonly string[] {
  if (path === sessionsPath) return ['GET', 'HEAD', 'POST'];
  if (path.startsWith(`${sessionsPath}/`)) return ['GET', 'HEAD', 'DELETE'];
  if (path === (quirks.bootViaSettings ? settingsPath : systemPath)) return ['GET', 'HEAD', 'PATCH'];
  if (path === secureBootPath) return ['GET', 'HEAD', 'PATCH'];
  if (path === (quirks.noBiosSettings ? biosPath : biosSettingsPath)) return ['GET', 'HEAD', 'PATCH'];
  return ['GET', 'HEAD'];
}

function notAllowed(allow: string): Answer {
  return errorAnswer(405, 'OperationNotAllowed', { headers: { Allow: allow } });
}

function etagOf(resource: Record<string, unknown>): string {
  return createHash('sha1').update(JSON.stringify(resource)).digest('hex').slice(0, 12);
}

function shownEtag(state: State, resource: Record<string, unknown>): string {
  return `${state.quirks.weakEtagOnly ? 'W/' : ''}"${etagOf(resource)}"`;
}

function etagHeaders(state: State, resource: Record<string, unknown>): Record<string, string> {
  return state.quirks.noEtag ? {} : { ETag: shownEtag(state, resource) };
}

function authenticated(state: State, request: ServiceRequest): boolean {
  const token = request.headers['x-auth-token'];
  if (typeof token === 'string') return state.sessions.has(token);
  const expected = Buffer.from(`${state.username}:${state.password}`).toString('base64');
  return request.headers['authorization'] === `Basic ${expected}`;
}

function createSession(state: State, request: ServiceRequest): Answer {
  const body = parseJson(request.body);
  if (body === undefined) return errorAnswer(400, 'MalformedJSON');
  if (body['UserName'] !== state.username || body['Password'] !== state.password) {
    return errorAnswer(401, 'ResourceAtUriUnauthorized', { text: 'The credentials are invalid.' });
  }
  const token = randomUUID();
  const id = randomUUID().slice(0, 8);
  state.sessions.set(token, id);
  state.counters.logins += 1;
  const path = `${sessionsPath}/${id}`;
  return {
    status: 201,
    headers: { 'X-Auth-Token': token, Location: path },
    body: {
      '@odata.id': path,
      '@odata.type': '#Session.v1_3_0.Session',
      Id: id,
      Name: `Session ${id}`,
      UserName: state.username,
    },
  };
}

function endSession(state: State, path: string): Answer {
  const id = path.slice(sessionsPath.length + 1);
  for (const [token, each] of state.sessions) if (each === id) state.sessions.delete(token);
  state.counters.logouts += 1;
  return { status: 204 };
}

async function patch(state: State, request: ServiceRequest, path: string, etag: string): Promise<Answer> {
  const refused = precondition(state, request, etag);
  if (refused) return refused;
  const body = parseJson(request.body);
  if (body === undefined) return errorAnswer(400, 'MalformedJSON');
  if (path === accountPath) return errorAnswer(403, 'InsufficientPrivilege');
  if (path === secureBootPath) {
    const wanted = body['SecureBootEnable'];
    if (typeof wanted !== 'boolean') return errorAnswer(400, 'PropertyValueError');
    return perform(state, () => {
      state.secureBoot = wanted;
      return Promise.resolve();
    });
  }
  if (path.startsWith(biosPath)) {
    const fault = patchBios(state.bios, body, state.quirks);
    return fault ?? perform(state, () => Promise.resolve());
  }
  const boot = patchedBoot(body, state.pendingBoot ?? (await state.machine.getBoot()), state.quirks);
  if ('status' in boot) return boot;
  return perform(state, async () => {
    state.counters.bootChanges += 1;
    if (state.quirks.bootViaSettings) state.pendingBoot = boot;
    else await state.machine.setBoot(boot);
  });
}

function precondition(state: State, request: ServiceRequest, etag: string): Answer | undefined {
  const ifMatch = request.headers['if-match'];
  if (ifMatch === undefined) return state.quirks.requireIfMatch ? errorAnswer(428, 'PreconditionRequired') : undefined;
  if (state.quirks.rejectIfMatch) return errorAnswer(412, 'PreconditionFailed');
  return ifMatch === `"${etag}"` || ifMatch === '*' ? undefined : errorAnswer(412, 'PreconditionFailed');
}

async function resetBios(state: State, request: ServiceRequest): Promise<Answer> {
  if (parseJson(request.body) === undefined) return errorAnswer(400, 'MalformedJSON');
  return perform(state, () => {
    state.bios.defaultsPending = true;
    state.bios.pending = {};
    return Promise.resolve();
  });
}

const powerActions: Readonly<Record<string, 'on' | 'off' | 'reset' | 'graceful'>> = {
  On: 'on',
  ForceOn: 'on',
  ForceOff: 'off',
  GracefulShutdown: 'graceful',
  GracefulRestart: 'reset',
  ForceRestart: 'reset',
  PowerCycle: 'reset',
};

async function reset(state: State, request: ServiceRequest): Promise<Answer> {
  const body = parseJson(request.body);
  if (body === undefined) return errorAnswer(400, 'MalformedJSON');
  const resetType = body['ResetType'];
  if (typeof resetType !== 'string') return errorAnswer(400, 'ActionParameterMissing');
  if (resetType === 'Nmi' && state.quirks.resetTypes.includes(resetType)) {
    return perform(state, () => {
      state.counters.nmis += 1;
      return Promise.resolve();
    });
  }
  const power = await state.machine.getPower();
  const action = resetType === 'PushPowerButton' ? (power === 'on' ? 'graceful' : 'on') : powerActions[resetType];
  if (action === undefined || !state.quirks.resetTypes.includes(resetType)) {
    return errorAnswer(400, 'ActionParameterNotSupported', {
      text: `The parameter ResetType with the value ${resetType} is not supported.`,
    });
  }
  if (state.quirks.ignoredPowerActions > 0) {
    state.quirks.ignoredPowerActions -= 1;
    return { status: 204 };
  }
  return perform(state, async () => {
    state.counters.powerChanges += 1;
    if (state.pendingBoot && action !== 'off' && action !== 'graceful') {
      await state.machine.setBoot(state.pendingBoot);
      state.pendingBoot = undefined;
    }
    const { slowPowerMs } = state.quirks;
    if (slowPowerMs > 0) {
      state.transition = {
        until: Date.now() + slowPowerMs,
        shown: action === 'off' || action === 'graceful' ? 'PoweringOff' : 'PoweringOn',
      };
    }
    if (action === 'reset' || (action === 'on' && power === 'off')) startFirmware(state);
    await state.machine.setPower(action);
  });
}

function startFirmware(state: State): void {
  const { biosAppliesAfterMs } = state.quirks;
  if (biosAppliesAfterMs === 0) bootBios(state.bios, state.quirks);
  else setTimeout(() => bootBios(state.bios, state.quirks), biosAppliesAfterMs).unref();
}

async function perform(state: State, act: () => Promise<void>): Promise<Answer> {
  const { quirks } = state;
  if (!quirks.tasks) {
    await act();
    return quirks.answerWithBody ? { ...errorAnswer(200, 'Success'), headers: {} } : { status: 204 };
  }
  if (!quirks.failTasks) await act();
  const id = randomUUID().slice(0, 8);
  state.tasks.set(id, { polls: quirks.taskPolls, failed: quirks.failTasks });
  return { status: 202, headers: { Location: monitorPath(id) }, body: task(id, 'Running') };
}

function pollTask(state: State, id: string): Answer {
  const found = state.tasks.get(id);
  if (!found) return errorAnswer(404, 'ResourceNotFound');
  if (found.polls > 0) {
    found.polls -= 1;
    return { status: 202, headers: { Location: monitorPath(id) }, body: task(id, 'Running') };
  }
  return { status: 200, body: task(id, found.failed ? 'Exception' : 'Completed') };
}

const monitorPath = (id: string): string => `/redfish/v1/TaskService/TaskMonitors/${id}`;

function task(id: string, taskState: 'Running' | 'Completed' | 'Exception'): Record<string, unknown> {
  return {
    '@odata.id': `/redfish/v1/TaskService/Tasks/${id}`,
    '@odata.type': '#Task.v1_5_0.Task',
    Id: id,
    Name: `Task ${id}`,
    TaskState: taskState,
    TaskStatus: taskState === 'Exception' ? 'Critical' : 'OK',
    TaskMonitor: monitorPath(id),
    Messages:
      taskState === 'Exception'
        ? [{ MessageId: 'Base.1.8.InternalError', Message: 'The task failed on purpose.' }]
        : [],
  };
}

function parseJson(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
