import type { DhcpRequest } from '#test/support/dhcp-client.ts';

const mac = '52:54:00:77:00:01';

/** Asks as firmware of this architecture does (RFC 4578). */
export function firmware(architecture: number, vendor = 'PXEClient'): DhcpRequest {
  const number = String(architecture).padStart(5, '0');
  return { type: 'discover', mac, architecture, vendorClass: `${vendor}:Arch:${number}:UNDI:003016` };
}

/** Each kind of client, with the file that it is to be given. */
export const bootRequests = (bootUrl: string): readonly [kind: string, request: DhcpRequest, file: string][] => [
  ['BIOS', firmware(0), 'undionly.kpxe'],
  ['UEFI', firmware(7), 'snponly.efi'],
  ['UEFI, another number', firmware(9), 'snponly.efi'],
  ['arm64', firmware(11), 'ipxe-arm64.efi'],
  ['HTTP boot', firmware(16, 'HTTPClient'), `${bootUrl}/boot/snponly.efi`],
  ['HTTP boot, arm64', firmware(19, 'HTTPClient'), `${bootUrl}/boot/ipxe-arm64.efi`],
  ['iPXE', { ...firmware(7), isIpxe: true }, `${bootUrl}/boot/boot.ipxe`],
];
