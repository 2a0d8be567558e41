import type { AccessRule } from '#conductor/auth/access.ts';

/**
 * Operations without a login: clients negotiate before they log in, firmware and ramdisks have nothing to log in with.
 * Heartbeats and reports carry the boot's own token instead.
 */
export const openToStrangers: readonly AccessRule[] = [
  ['GET', '/'],
  ['GET', '/v1'],
  ['GET', '/openapi.json'],
  ['GET', '/board'],
  ['GET', '/board/{file}'],
  ['GET', '/docs'],
  ['GET', '/docs/{file}'],
  ['GET', '/healthz'],
  ['GET', '/readyz'],
  ['GET', '/versions'],
  ['GET', '/api/v1.0/health'],
  ['GET', '/v1/lookup'],
  ['POST', '/v1/attestations'],
  ['POST', '/v1/attestations/answer'],
  ['POST', '/v1/heartbeat/{node}'],
  ['POST', '/v1/progress/{node}'],
  ['POST', '/v1/neighbours/{node}'],
  ['POST', '/v1/continue_inspection'],
  ['GET', '/boot/boot.ipxe'],
  ['GET', '/boot/node.ipxe'],
  ['GET', '/boot/secrets.img'],
  ['GET', '/boot/vmlinuz'],
  ['GET', '/boot/initrd.img'],
  ['GET', '/boot/snponly.efi'],
  ['GET', '/boot/undionly.kpxe'],
  ['GET', '/boot/ipxe.efi'],
  ['GET', '/boot/ipxe-arm64.efi'],
  ['GET', '/images/*'],
  // anyone who knows the name may read it: only the BMC and the conductor do
  ['GET', '/media/{node}/{file}'],
].map(([method, path]) => ({
  method: method as AccessRule['method'],
  path: path as string,
  policy: 'public_api',
  scope: 'none',
  access: 'public',
}));
