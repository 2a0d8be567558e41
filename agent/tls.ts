import { createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import { AppError } from '#shared/errors/app-error.ts';

export interface ServerCertificate {
  readonly certificatePem: string;
  readonly keyPem: string;
}

const objectIds = {
  commonName: [0x55, 0x04, 0x03],
  subjectAltName: [0x55, 0x1d, 0x11],
  ecdsaWithSha256: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02],
  ecdsaWithSha512: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04],
} as const;

const curves = {
  p256: { namedCurve: 'P-256', hash: 'sha256', signature: objectIds.ecdsaWithSha256 },
  p384: { namedCurve: 'P-384', hash: 'sha512', signature: objectIds.ecdsaWithSha512 },
} as const;

/**
 * The agent's self-signed certificate (agent-protocol.md §3.1): common name = host name, one critical
 * subjectAltName with the advertised IP address. It has no dates that could be wrong, unlike that of Ironic's agent (an
 * hour ago, 30 days): the conductor pins it for one boot, and a server whose clock has lost its battery or runs on local
 * time must be deployable all the same (RFC 5280 §4.1.2.5 for the end without a date).
 *
 * Written out in DER here, on Node's own crypto: the X.509 package costs 340 KB of bundle and a Reflect polyfill,
 * for one certificate with one extension.
 * @throws AppError `invalid_argument` when `address` is not an IP address.
 */
export function createServerCertificate(options: {
  readonly address: string;
  readonly hostName: string;
  readonly curve: keyof typeof curves;
}): ServerCertificate {
  const curve = curves[options.curve];
  const keys = generateKeyPairSync('ec', { namedCurve: curve.namedCurve });
  const algorithm = sequence(element(0x06, curve.signature));
  const name = sequence(
    element(0x31, sequence(element(0x06, objectIds.commonName), element(0x0c, Buffer.from(options.hostName)))),
  );
  const altName = sequence(
    element(0x06, objectIds.subjectAltName),
    element(0x01, [0xff]), // critical
    element(0x04, sequence(element(0x87, addressBytes(options.address)))),
  );
  const body = sequence(
    element(0xa0, element(0x02, [2])), // X.509 v3
    element(0x02, [0x40, ...randomBytes(15)]), // the fixed first byte keeps the number positive and its length minimal
    algorithm,
    name,
    sequence(element(0x17, Buffer.from('700101000000Z')), element(0x18, Buffer.from('99991231235959Z'))),
    name,
    createPublicKey(keys.privateKey).export({ type: 'spki', format: 'der' }),
    element(0xa3, sequence(altName)),
  );
  const signature = sign(curve.hash, body, keys.privateKey);
  const certificate = sequence(body, algorithm, element(0x03, Buffer.concat([Buffer.from([0]), signature])));
  return {
    certificatePem: pem('CERTIFICATE', certificate),
    keyPem: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** One DER element: tag, length, content. */
function element(tag: number, content: Uint8Array | readonly number[]): Buffer {
  const bytes = Buffer.from(content);
  const size = bytes.length;
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), bytes]);
}

function sequence(...elements: readonly Buffer[]): Buffer {
  return element(0x30, Buffer.concat(elements));
}

function addressBytes(address: string): readonly number[] {
  if (isIPv4(address)) return address.split('.').map(Number);
  if (!isIPv6(address)) {
    throw new AppError('invalid_argument', `the certificate needs an IP address to stand for, got ${address}`);
  }
  // the URL parser writes any IPv6 form as up to eight hexadecimal groups with at most one gap
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = '', tail] = canonical.split('::');
  const groups = (text: string): readonly string[] => text.split(':').filter(Boolean);
  const gap = tail === undefined ? 0 : 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...Array.from({ length: gap }, () => '0'), ...groups(tail ?? '')];
  return all.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]);
}

function pem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
