import { createSocket } from 'node:dgram';

/**
 * A program: sends DHCPv6 Solicits of a machine that boots (RFC 8415, RFC 5970) until one is answered, and prints the
 * Advertise as JSON.
 */
export interface Dhcp6Request {
  readonly device: string;
  /** RFC 5970 §3.3. */
  readonly architecture: number;
  /** Sent by iPXE: its user class. */
  readonly isIpxe?: boolean;
}

export interface Dhcp6Answer {
  /** Hex digits of the address that is offered. */
  readonly address: string | undefined;
  readonly bootFile: string | undefined;
}

const codes = { clientId: 1, iaNa: 3, iaAddress: 5, requested: 6, elapsed: 8, userClass: 15, bootFile: 59, arch: 61 };
const [solicit, advertise] = [1, 2];
const transaction = Buffer.from([0x42, 0x61, 0x74]);
/** A client sends again until it is answered; until its own address is settled it can't send at all. */
const [againMs, giveUpMs] = [500, 60_000];

function option(code: number, value: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt16BE(code, 0);
  head.writeUInt16BE(value.length, 2);
  return Buffer.concat([head, value]);
}

function messageOf({ architecture, isIpxe = false }: Dhcp6Request): Buffer {
  const pair = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff]);
  return Buffer.concat([
    Buffer.from([solicit]),
    transaction,
    option(codes.clientId, Buffer.from('00030001525400770011', 'hex')),
    option(codes.iaNa, Buffer.from('000000010000000000000000', 'hex')),
    option(codes.requested, pair(codes.bootFile)),
    option(codes.elapsed, pair(0)),
    option(codes.arch, pair(architecture)),
    ...(isIpxe ? [option(codes.userClass, Buffer.concat([pair(4), Buffer.from('iPXE')]))] : []),
  ]);
}

function readOptions(bytes: Buffer): Map<number, Buffer> {
  const found = new Map<number, Buffer>();
  for (let at = 0; at + 4 <= bytes.length; ) {
    const length = bytes.readUInt16BE(at + 2);
    found.set(bytes.readUInt16BE(at), bytes.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return found;
}

function readAnswer(message: Buffer): Dhcp6Answer {
  const options = readOptions(message.subarray(4));
  const ia = readOptions(options.get(codes.iaNa)?.subarray(12) ?? Buffer.alloc(0));
  return {
    address: ia.get(codes.iaAddress)?.subarray(0, 16).toString('hex'),
    bootFile: options.get(codes.bootFile)?.toString(),
  };
}

const request = JSON.parse(process.argv[2] ?? '{}') as Dhcp6Request;
const socket = createSocket('udp6');
const end = (answer: Dhcp6Answer | null): void => {
  clearInterval(sending);
  clearTimeout(patience);
  socket.close();
  process.stdout.write(JSON.stringify(answer));
};
const send = (): void => {
  // what can't be sent yet is sent again
  socket.send(messageOf(request), 547, `ff02::1:2%${request.device}`, () => undefined);
};
socket.on('message', (message) => {
  if (message[0] === advertise && message.subarray(1, 4).equals(transaction)) end(readAnswer(message));
});
let sending: NodeJS.Timeout | undefined;
const patience = setTimeout(() => end(null), giveUpMs);
socket.bind(546, () => {
  send();
  sending = setInterval(send, againMs);
});
