import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { notRecorded } from '#test/recorded/recorded-answers.ts';
import { type Answer, errorAnswer, readBody } from '#test/simulators/redfish/answers.ts';
import { brokenMember, withOddMembers } from '#test/simulators/redfish/collections.ts';
import { createFaultList, type Fault, type Quirks, standardQuirks } from '#test/simulators/redfish/faults.ts';
import type { SimulatedMachine } from '#test/simulators/redfish/machine.ts';
import { recordedTree } from '#test/simulators/redfish/recorded-tree.ts';
import { serveSerialConsole } from '#test/simulators/redfish/serial-console.ts';
import { createService, type RedfishService } from '#test/simulators/redfish/service.ts';
import type { Counters } from '#test/simulators/redfish/service-state.ts';

export interface RedfishSimulatorOptions {
  /** Default `127.0.0.1`. */
  readonly host?: string;
  /** Default: any free port. */
  readonly port?: number;
  readonly machine: SimulatedMachine;
  readonly username: string;
  readonly password: string;
  /** Whether Secure Boot is on at first; default off. */
  readonly secureBoot?: boolean;
  /** MAC addresses of the machine's network cards; default none. */
  readonly macs?: readonly string[];
  /** HTTPS with this key and certificate (PEM); HTTP without. */
  readonly tls?: {
    readonly key: string;
    readonly cert: string;
    readonly maxVersion?: 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';
    readonly minVersion?: 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';
    readonly ciphers?: string;
  };
  readonly quirks?: Partial<Quirks>;
  /** Recorded answers that it begins with, by `GET /path`; it has nothing beside them. */
  readonly recorded?: Readonly<Record<string, string>>;
}

interface SeenRequest {
  readonly method: string;
  readonly path: string;
  /** `?$skip=1`, or empty. */
  readonly query: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface RedfishSimulator {
  /** `redfish_address`: `https://127.0.0.1:38211`. */
  readonly address: string;
  /** Change a quirk at any time: `simulator.quirks.noEtag = true`. */
  readonly quirks: Quirks;
  readonly counters: Readonly<Counters>;
  /** Every request in order, those hit by a fault included. */
  readonly requests: readonly SeenRequest[];
  inject(fault: Fault): void;
  /** Requests that what was injected is still to strike. */
  faultsLeft(): number;
  /** Takes back what was injected and has not struck. */
  clearFaults(): void;
  /** From now on requests are taken and not answered until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** Ends every session, as a BMC does when it restarts. */
  dropSessions(): void;
  /** The same; its tasks are forgotten, too. */
  restart(): void;
  sessionCount(): number;
  /** From now on these are its account's; sessions stay, as they do at BMCs. */
  setAccount(username: string, password: string): void;
  close(): Promise<void>;
}

/** Starts a BMC that speaks Redfish for one machine; any number may run in one process. */
export async function startRedfishSimulator(options: RedfishSimulatorOptions): Promise<RedfishSimulator> {
  const tree = options.recorded && recordedTree(options.recorded);
  await tree?.begin(options.machine);
  const quirks: Quirks = { ...standardQuirks, ...tree?.quirks, ...options.quirks };
  const counters = noneYet();
  const faults = createFaultList();
  const requests: SeenRequest[] = [];
  const service = createService({ ...options, quirks, counters });
  let frozen: PromiseWithResolvers<void> | undefined;

  const answerRequest = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const method = request.method ?? 'GET';
    const url = new URL(request.url ?? '/', 'http://bmc');
    const { pathname: path, search: query } = url;
    const body = await readBody(request);
    counters.requests += 1;
    requests.push({ method, path, query, headers: request.headers, body });
    await frozen?.promise;
    const fault = faults.take(method, path) ?? unacceptable(request, quirks);
    if (fault?.hang) return;
    if (fault?.drop || fault?.cutBody) {
      cut(request, response, fault);
      return;
    }
    if (fault && !fault.dropAnswer && fault.actsAs === undefined) {
      send(response, method, quirks, answerOf(fault));
      return;
    }
    const own = (text: string): string => renamed(text, quirks, 'from BMC');
    const asked = { method, path: own(path), headers: request.headers, body: own(body) };
    if (tree?.knows(method, asked.path) === false) return send(response, method, quirks, notRecorded);
    const ours = await service.handle(asked);
    const shown = tree && method === 'GET' ? tree.show(url, ours, counters) : ours;
    const answer = brokenMember(path) ?? withOddMembers(shown, { ...asked, query }, quirks);
    // it is for the next one that is taken
    if (fault?.actsAs === 202 && answer.status >= 400) faults.inject({ ...fault, times: 1 });
    if (fault?.dropAnswer) request.socket.destroy();
    else send(response, method, quirks, fault?.actsAs === undefined ? answer : disguised(answer, fault));
  };

  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    answerRequest(request, response).catch((error: unknown) => {
      // a machine behind the simulator that fails is an internal error of the BMC
      if (response.headersSent) response.destroy();
      else send(response, 'GET', quirks, { status: 500, body: String(error) });
    });
  };
  const server = options.tls ? createHttpsServer(options.tls, listener) : createHttpServer(listener);
  serveSerialConsole(server, (request, path) => offersConsole(service, quirks, request, path));
  // Node's own five seconds would cut a request of a client that pauses, which then sends it again
  server.keepAliveTimeout = 120_000;
  const host = options.host ?? '127.0.0.1';
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const authority = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  return {
    address: `${options.tls ? 'https' : 'http'}://${authority}`,
    quirks,
    counters,
    requests,
    inject: (fault) => faults.inject(fault),
    faultsLeft: () => faults.left(),
    clearFaults: () => faults.clear(),
    freeze: () => {
      frozen ??= Promise.withResolvers<void>();
    },
    thaw: () => {
      frozen?.resolve();
      frozen = undefined;
    },
    dropSessions: () => service.dropSessions(),
    restart: () => service.restart(),
    sessionCount: () => service.sessionCount(),
    setAccount: (username, password) => service.setAccount(username, password),
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
  };
}

const noneYet = (): Counters => ({
  requests: 0,
  logins: 0,
  logouts: 0,
  powerChanges: 0,
  bootChanges: 0,
  nmis: 0,
  bmcResets: 0,
  resetsAmidWork: 0,
});

function answerOf({ status = 200, headers, ...fault }: Fault): Answer {
  return { status, ...(headers ? { headers } : {}), ...('body' in fault ? { body: fault.body } : {}) };
}

/** The answer to what was done that hides it. */
function disguised(answer: Answer, { actsAs = 500, ...fault }: Fault): Answer {
  if (actsAs >= 400) return errorAnswer(actsAs, 'GeneralError');
  return answer.status < 400 ? answerOf({ ...fault, status: actsAs }) : answer;
}

/** Finds what a BMC that has bodies in gzip alone answers to a client that does not take that. */
function unacceptable({ headers }: IncomingMessage, { gzip }: Quirks): Fault | undefined {
  return gzip === 'or 406' && !String(headers['accept-encoding']).includes('gzip')
    ? { path: /./, status: 406 }
    : undefined;
}

/** Ends the connection, before the answer or amid its body. */
function cut(request: IncomingMessage, response: ServerResponse, fault: Fault): void {
  if (fault.cutBody) {
    response.writeHead(fault.status ?? 200, { 'Transfer-Encoding': 'chunked' });
    response.write('{', () => request.socket.destroy());
  } else request.socket.destroy();
}

function send(response: ServerResponse, method: string, quirks: Quirks, answer: Answer): void {
  const { body } = answer;
  const text = renamed(body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body), quirks);
  const place = answer.headers?.['Location'];
  const isPacked = quirks.gzip !== 'never' && text !== '';
  const bytes = isPacked ? gzipSync(text) : Buffer.from(text);
  response.writeHead(answer.status, {
    'OData-Version': '4.0',
    'Cache-Control': 'no-cache',
    ...(text === '' ? {} : { 'Content-Type': quirks.contentType }),
    ...(isPacked ? { 'Content-Encoding': 'gzip' } : {}),
    ...(answer.status === 204 ? {} : { 'Content-Length': String(bytes.length) }),
    ...answer.headers,
    ...(place === undefined ? {} : { Location: renamed(place, quirks) }),
  });
  response.end(method === 'HEAD' || answer.status === 204 ? undefined : bytes);
}

async function offersConsole(
  service: RedfishService,
  quirks: Quirks,
  { headers }: IncomingMessage,
  path: string,
): Promise<boolean> {
  const answer = await service.handle({ method: 'GET', path: '/redfish/v1/Systems', headers, body: '' });
  const { WebSocket: offered } = quirks.serialConsole ?? {};
  return answer.status === 200 && (offered as { ConsoleURI?: string } | undefined)?.ConsoleURI === path;
}

/** Paths in a text by the BMC's names, or by the simulator's own. */
function renamed(text: string, quirks: Quirks, direction: 'to BMC' | 'from BMC' = 'to BMC'): string {
  const { linkBase } = quirks;
  if (linkBase === '') return renamedPaths(text, quirks, direction);
  const own = direction === 'from BMC' ? text.replaceAll(linkBase, '') : text;
  const based = renamedPaths(own, quirks, direction);
  return direction === 'to BMC' ? based.replaceAll(/(^|")(?=\/redfish\/)/g, `$1${linkBase}`) : based;
}

function renamedPaths(text: string, { paths }: Quirks, direction: 'to BMC' | 'from BMC'): string {
  const pairs: (readonly [string, string])[] = Object.entries(paths);
  if (pairs.length === 0) return text;
  const to = new Map(direction === 'to BMC' ? pairs : pairs.map(([own, bmc]) => [bmc, own]));
  const names = [...to.keys()].toSorted((one, other) => other.length - one.length);
  const pattern = names.map((name) => name.replaceAll('.', '\\.')).join('|');
  return text.replace(new RegExp(`(?:${pattern})(?=[/"#)]|$)`, 'g'), (name) => to.get(name) ?? name);
}
