import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

const kibibyte = 1024;
const json = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const endless = `${json}Transfer-Encoding: chunked\r\n\r\n`;
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const whole = (text: string): string => `${json}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;

type Behave = (socket: Socket) => void;

/** Writes as fast as it is read, until the other side hangs up. */
export const forever =
  (head: string, more: string): Behave =>
  (socket) => {
    const push = (): void => {
      while (!socket.destroyed && socket.write(more));
    };
    socket.on('drain', push);
    socket.write(head);
    push();
  };

/** A piece each tenth of a second: never idle for long. */
const drop =
  (head: string, piece: string): Behave =>
  (socket) => {
    socket.write(head);
    const timer = setInterval(() => socket.write(piece), 100);
    socket.once('close', () => clearInterval(timer));
  };

const saying =
  (text: string): Behave =>
  (socket) =>
    socket.end(text);

/** Reactions to a request by a peer that means harm, or is broken. */
export const hostileBehaviours = {
  'says nothing': () => undefined,
  'answers a body without end': forever(endless, chunk(`"${'x'.repeat(64 * kibibyte)}",`)),
  'answers headers without end': forever('HTTP/1.1 200 OK\r\n', `X-A: ${'x'.repeat(kibibyte)}\r\n`),
  'answers JSON without end': forever(`${endless}${chunk('[')}`, chunk('{"a":[]},'.repeat(1000))),
  'answers a byte at a time': drop(`${endless}${chunk('[')}`, chunk(' ')),
  'sends headers a byte at a time': drop('HTTP/1.1 200 OK\r\nX-A: ', 'x'),
  'answers deep JSON': saying(whole('['.repeat(100_000))),
  'answers deep objects': saying(whole('{"a":'.repeat(1000) + 0 + '}'.repeat(1000))),
  'answers huge numbers': saying(
    whole(`{"@odata.id": ${'9'.repeat(400)}, "Members": 1e999, "members": -1, "header": 1e308}`),
  ),
  'answers NULs': saying(
    whole('{"@odata.id": "\\u0000", "Members": [{"@odata.id": "/\\u0000"}], "members": ["\\u0000"]}'),
  ),
  'answers other types': saying(
    whole('{"Members": {"length": 1e9}, "Systems": [], "members": "x", "items": 7, "commands": {"0": 1}}'),
  ),
  'answers names of prototypes': saying(
    whole('{"__proto__": {"a": 1}, "constructor": {"prototype": {}}, "commands": [{"__proto__": 1}]}'),
  ),
  'answers half': (socket) => socket.end(`${json}Content-Length: 1000\r\n\r\n{"commands": [`),
  'announces a negative length': saying(`${json}Content-Length: -5\r\n\r\n{}`),
  'announces a huge length': saying(`${json}Content-Length: 99999999999999999999\r\n\r\n{}`),
  'sends a negative chunk': saying(`${endless}-1\r\nx\r\n0\r\n\r\n`),
  'sends what is not HTTP': saying(`\0\x01\x02${'\xff'.repeat(500)}`),
  'redirects to metadata': saying(
    'HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/\r\nContent-Length: 0\r\n\r\n',
  ),
  'redirects to a file': saying('HTTP/1.1 307 Temporary\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n'),
  'redirects to itself': saying('HTTP/1.1 301 Moved\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n'),
  'hangs up': (socket) => socket.destroy(),
} as const satisfies Readonly<Record<string, Behave>>;

export type HostileBehaviour = keyof typeof hostileBehaviours;

export interface HostileServer {
  readonly port: number;
  /** Requests so far. */
  asked(): number;
  /** Connections that are open. */
  open(): number;
  close(): Promise<void>;
}

/** A server on loopback that answers whatever it is asked in this way. */
export async function startHostileServer(behaviour: HostileBehaviour | Behave): Promise<HostileServer> {
  const sockets = new Set<Socket>();
  const behave = typeof behaviour === 'string' ? hostileBehaviours[behaviour] : behaviour;
  let asked = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
    socket.once('data', () => {
      asked += 1;
      behave(socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    asked: () => asked,
    open: () => sockets.size,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
