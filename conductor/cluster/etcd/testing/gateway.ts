import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

/** One etcd member's JSON gateway as far as Baton asks it, over plain HTTP, with knobs; the real ones are in `test/system`. */
export interface Gateway {
  readonly url: string;
  /** Paths that were asked, with bodies of those that act. */
  readonly asked: string[];
  /** May be changed while it runs. */
  readonly state: GatewayState;
  close(): Promise<void>;
}

export interface GatewayState {
  /** Names; ids are 1, 2, 3 … and the first is the one that answers, and leads. */
  members: { ID: string; name: string; isLearner?: boolean }[];
  /** Text that `/health` answers. */
  health: string;
  /** User and password that it wants. */
  login?: { readonly name: string; readonly password: string };
  /** The text that the next remove is refused with. */
  refusal?: string;
}

export async function startGateway(names: readonly string[]): Promise<Gateway> {
  const state: GatewayState = {
    members: names.map((name, index) => ({ ID: String(index + 1), name })),
    health: '{"health":"true"}',
  };
  const asked: string[] = [];
  const server = createServer((request, response) => {
    answer(request, state, asked).then(
      ([status, body]) => response.writeHead(status).end(body),
      (error: unknown) => response.destroy(error instanceof Error ? error : undefined),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port for a gateway');
  const url = `http://127.0.0.1:${address.port}`;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url, asked, state, close };
}

async function answer(
  request: IncomingMessage,
  state: GatewayState,
  asked: string[],
): Promise<readonly [status: number, body: string]> {
  const path = (request.url ?? '').replace(/\?.*/, '');
  const sent = await text(request);
  if (path === '/health') return [state.health.includes('true') ? 200 : 503, state.health];
  const body = JSON.parse(sent) as { readonly ID?: string; readonly name?: string; readonly password?: string };
  asked.push(path.endsWith('remove') ? `${path} ${body.ID}` : path);
  if (path === '/v3/auth/authenticate') return authenticate(state, body);
  if (state.login && request.headers.authorization !== 'a-token') return refuse(16, 'invalid auth token');
  if (path === '/v3/maintenance/status')
    return ok({ header: { cluster_id: '7', member_id: '1' }, version: '3.4.23', leader: '1', raftIndex: '5' });
  if (path === '/v3/cluster/member/list')
    return ok({ members: state.members.map((each) => ({ ...each, peerURLs: [`https://${each.name}.example:2380`] })) });
  if (path === '/v3/maintenance/alarm') return ok({});
  if (path !== '/v3/cluster/member/remove') return [404, 'Not Found\n'];
  if (state.refusal !== undefined) return refuse(2, state.refusal);
  state.members = state.members.filter(({ ID }) => ID !== body.ID);
  return ok({});
}

function authenticate({ login }: GatewayState, body: { readonly name?: string; readonly password?: string }) {
  if (!login) return refuse(9, 'authentication is not enabled');
  if (body.name === login.name && body.password === login.password) return ok({ token: 'a-token' });
  return refuse(3, 'authentication failed, invalid user ID or password');
}

function ok(body: object): readonly [number, string] {
  return [200, JSON.stringify(body)];
}

function refuse(code: number, error: string): readonly [number, string] {
  return [400, JSON.stringify({ error: `etcdserver: ${error}`, message: `etcdserver: ${error}`, code })];
}
