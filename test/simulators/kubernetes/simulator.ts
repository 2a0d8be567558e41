import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { RecordedAnswer } from '#test/recorded/recorded-answers.ts';
import { type AccessControl, createAccessControl } from '#test/simulators/kubernetes/access.ts';
import { beginRecorded } from '#test/simulators/kubernetes/recorded-answers.ts';
import { Refusal, statusBody } from '#test/simulators/kubernetes/refusal.ts';
import { createService } from '#test/simulators/kubernetes/service.ts';
import { createStore, type Store } from '#test/simulators/kubernetes/store.ts';
import { createWorld, type Pace, type World } from '#test/simulators/kubernetes/world.ts';
import { readBody } from '#test/simulators/redfish/answers.ts';
import { createFaultList, type Fault } from '#test/simulators/redfish/faults.ts';

export interface KubernetesSimulatorOptions {
  /** HTTPS with this key and certificate (PEM); HTTP without. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** The bearer token without which every request is a 401. */
  readonly token?: string;
  /** With `tls`: users come in by a client's certificate, no matter who has signed it. */
  readonly clientCertificates?: boolean;
  /** `v1beta1` as in clusters older than 1.22; default `v1`. */
  readonly eviction?: 'v1' | 'v1beta1';
  readonly pace?: Partial<Pace>;
  /** Recorded answers that it begins with, by `GET /path`; of kinds that they don't show it says nothing. */
  readonly recorded?: Readonly<Record<string, string>>;
}

export interface KubernetesSimulator {
  /** `https://127.0.0.1:38211`. */
  readonly server: string;
  /** The objects, for tests to set and to look at. */
  readonly store: Store;
  readonly world: World;
  readonly access: AccessControl;
  readonly requests: readonly { readonly method: string; readonly path: string; readonly body: string }[];
  inject(fault: Fault): void;
  clearFaults(): void;
  /** From now on connections are cut, watches too. */
  goDown(): void;
  comeBack(): void;
  /** Milliseconds by which each answer is late. */
  slowDown(ms: number): void;
  watchCount(): number;
  /** Connections that were ever made. */
  connectionCount(): number;
  /** Ends all watches, as a server does after some minutes. */
  endWatches(): void;
  /** A kubeconfig for it. @param caFile the certificate that clients trust */
  kubeconfig(caFile?: string): string;
  close(): Promise<void>;
}

/** Starts an API server with kubelets and controllers behind it; any number may run in one process. */
export async function startKubernetesSimulator(options: KubernetesSimulatorOptions = {}): Promise<KubernetesSimulator> {
  const store = createStore();
  const showRecorded = beginRecorded(store, options.recorded);
  const world = createWorld(store, { startMs: 20, leaseMs: 1_000, lostMs: 500, ...options.pace });
  const access = createAccessControl(options);
  const service = createService({ store, access, eviction: options.eviction ?? 'v1', bookmarkMs: 1_000 });
  const faults = createFaultList();
  const requests: { method: string; path: string; body: string }[] = [];
  const watches = new Set<ServerResponse>();
  const state = { isDown: false, lateMs: 0, connections: 0 };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(request);
    const method = request.method ?? 'GET';
    const url = new URL(request.url ?? '/', 'http://simulator');
    requests.push({ method, path: `${url.pathname}${url.search}`, body });
    if (state.lateMs > 0) await new Promise((resolve) => setTimeout(resolve, state.lateMs));
    const fault = faults.take(method, url.pathname);
    if (fault?.hang) return;
    if (state.isDown || fault?.drop) {
      request.socket.destroy();
      return;
    }
    if (fault && !fault.dropAnswer) {
      const status = fault.status ?? 500;
      send(response, status, fault.body ?? statusBody(new Refusal(status, 'InternalError', 'injected')));
      return;
    }
    access.require(request, url);
    if (sentRecorded(response, showRecorded(method, url))) return;
    const answer = service({ method, url, headers: request.headers, body }, response);
    if (answer && fault?.dropAnswer) request.socket.destroy();
    else if (answer) send(response, answer.status, answer.body);
    else {
      watches.add(response);
      response.once('close', () => watches.delete(response));
    }
  };
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    handle(request, response).catch((error: unknown) => {
      const refusal = error instanceof Refusal ? error : new Refusal(500, 'InternalError', String(error));
      if (response.headersSent) response.destroy();
      else send(response, refusal.status, statusBody(refusal));
    });
  };
  const server = newServer(options.tls, listener);
  server.on('connection', () => {
    state.connections += 1;
  });
  const address = `${options.tls ? 'https' : 'http'}://127.0.0.1:${await listen(server)}`;
  const endWatches = (): void => {
    for (const response of watches) response.end();
    watches.clear();
  };
  return {
    server: address,
    store,
    world,
    access,
    requests,
    inject: (fault) => faults.inject(fault),
    clearFaults: () => faults.clear(),
    goDown: () => {
      state.isDown = true;
      server.closeAllConnections();
    },
    comeBack: () => {
      state.isDown = false;
    },
    slowDown: (ms) => {
      state.lateMs = ms;
    },
    watchCount: () => watches.size,
    connectionCount: () => state.connections,
    endWatches,
    kubeconfig: (caFile) => kubeconfig(address, options.token, caFile),
    close: () => end(server, world),
  };
}

function newServer(tls: KubernetesSimulatorOptions['tls'], listener: RequestListener): Server {
  const server = tls
    ? createHttpsServer({ ...tls, requestCert: true, rejectUnauthorized: false }, listener)
    : createHttpServer(listener);
  // as real ones: Node's own five seconds would cut a request of a client that pauses, which then cannot know
  server.keepAliveTimeout = 120_000;
  return server;
}

function end(server: Server, world: World): Promise<void> {
  world.close();
  return new Promise((resolve, reject) => {
    server.close((error) => (error ? reject(error) : resolve()));
    server.closeAllConnections();
  });
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return (server.address() as AddressInfo).port;
}

function send(response: ServerResponse, status: number, body: unknown): void {
  const isText = typeof body === 'string';
  response.writeHead(status, { 'content-type': isText ? 'text/plain; charset=utf-8' : 'application/json' });
  response.end(isText ? body : JSON.stringify(body));
}

function sentRecorded(response: ServerResponse, answer: RecordedAnswer | undefined): boolean {
  if (!answer) return false;
  // the server's clock is a part of what it says
  response.sendDate = answer.headers === undefined;
  response.writeHead(answer.status, answer.headers ?? { 'content-type': 'application/json' }).end(answer.body);
  return true;
}

/** JSON is YAML. */
function kubeconfig(server: string, token: string | undefined, caFile: string | undefined): string {
  // Node's client speaks plain HTTP only where nobody expects it to be checked
  const trust = caFile === undefined ? { 'insecure-skip-tls-verify': true } : { 'certificate-authority': caFile };
  const cluster = { server, ...trust };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'simulator', cluster }],
    users: [{ name: 'tester', user: token === undefined ? {} : { token } }],
    contexts: [{ name: 'simulator', context: { cluster: 'simulator', user: 'tester' } }],
    'current-context': 'simulator',
  });
}
