import { createSocket } from 'node:dgram';

/**
 * A program: sends a DHCP request of a machine that boots until it is answered, and prints that as JSON. Its interface has an
 * address already, and a default route: this socket can't send without.
 */
export interface DhcpRequest {
  readonly mac: string;
  readonly type: 'discover' | 'request';
  /** Client architecture, RFC 4578 §2.1. */
  readonly architecture?: number;
  readonly vendorClass?: string;
  /** Sent by iPXE: an encapsulated option 175, and its user class. */
  readonly isIpxe?: boolean;
  /** Default: everybody, port 67. */
  readonly to?: { readonly address: string; readonly port: number };
  readonly clientAddress?: string;
  /** Which it wants to have, as a client that had it before. */
  readonly requestedAddress?: string;
  /** After which nobody is taken to answer; default 60,000. */
  readonly patienceMs?: number;
}

export interface DhcpAnswer {
  readonly address: string;
  readonly server: string;
  readonly file: string;
  readonly vendorClass: string | undefined;
}

const cookie = [0x63, 0x82, 0x53, 0x63];
const againMs = 1000;

const option = (code: number, bytes: Uint8Array | readonly number[]) => [code, bytes.length, ...bytes];
const text = (value: string) => Buffer.from(value, 'latin1');
const addressBytes = (address: string) => address.split('.').map(Number);

function encode(request: DhcpRequest): Buffer {
  const header = Buffer.alloc(236);
  // BOOTREQUEST, Ethernet; answers by broadcast
  header.set([1, 1, 6, 0, 0x12, 0x34, 0x56, 0x78, 0, 0, 0x80, 0]);
  header.set(addressBytes(request.clientAddress ?? '0.0.0.0'), 12);
  header.set(
    request.mac.split(':').map((byte) => Number.parseInt(byte, 16)),
    28,
  );
  const { architecture, vendorClass, requestedAddress } = request;
  const options = [
    ...option(53, [request.type === 'discover' ? 1 : 3]),
    ...(requestedAddress === undefined ? [] : option(50, addressBytes(requestedAddress))),
    ...option(55, [1, 3, 6, 43, 60, 66, 67]),
    ...(architecture === undefined ? [] : option(93, [architecture >> 8, architecture & 0xff])),
    ...(vendorClass === undefined ? [] : option(60, text(vendorClass))),
    // PXE clients name their interface and machine, too (RFC 4578 §2.2, §2.3)
    ...(architecture === undefined ? [] : [...option(94, [1, 3, 16]), ...option(97, [0, ...Buffer.alloc(16, 7)])]),
    ...(request.isIpxe ? [...option(175, [177, 1, 1]), ...option(77, text('iPXE'))] : []),
    255,
  ];
  return Buffer.concat([header, Buffer.from(cookie), Buffer.from(options)]);
}

function decode(message: Buffer): DhcpAnswer {
  const address = (at: number) => [...message.subarray(at, at + 4)].join('.');
  const options = new Map<number, Buffer>();
  for (let at = 240; at < message.length && message[at] !== 255; ) {
    const length = message[at + 1] ?? 0;
    if (message[at] === 0) at += 1;
    else {
      options.set(message[at] as number, message.subarray(at + 2, at + 2 + length));
      at += 2 + length;
    }
  }
  const clean = (bytes: Buffer | undefined) => bytes?.toString('latin1').replace(/\0.*$/s, '');
  return {
    address: address(16),
    server: address(20),
    file: clean(options.get(67)) ?? clean(message.subarray(108, 236)) ?? '',
    vendorClass: clean(options.get(60)),
  };
}

const [given = '{}'] = process.argv.slice(2);
const request = JSON.parse(given) as DhcpRequest;
const socket = createSocket({ type: 'udp4', reuseAddr: true });
const end = (answer: DhcpAnswer | null): void => {
  process.stdout.write(`${JSON.stringify(answer)}\n`, () => process.exit());
};
socket.once('message', (message) => end(decode(message)));
socket.bind(68, () => {
  socket.setBroadcast(true);
  const { address, port } = request.to ?? { address: '255.255.255.255', port: 67 };
  const send = (): void => socket.send(encode(request), port, address);
  send();
  setInterval(send, againMs);
  setTimeout(() => end(null), request.patienceMs ?? 60_000);
});
