import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { bootsByHttp, bootsFromVirtualMedia } from '#conductor/nodes/node-interfaces.ts';

type Booting = Pick<NodeRow, 'secureBoot'> & Parameters<typeof bootsByHttp>[0];

/**
 * Says why the machine's firmware would refuse the loader of the ramdisk; `undefined` = it may take it. What the BMC does not
 * show refuses nothing. Pure.
 * @param ipxe whether the iPXE that is served has a signature
 */
export function whyBootIsRefused(node: Booting, ipxe: 'signed' | 'unsigned' | 'unknown'): string | undefined {
  if (node.secureBoot !== true || ipxe !== 'unsigned') return undefined;
  // their loader is signed
  if (bootsByHttp(node) || bootsFromVirtualMedia(node)) return undefined;
  return (
    'Secure Boot is on, and iPXE is not signed: the firmware refuses it. Set boot_interface to http or ' +
    'redfish-virtual-media, or switch Secure Boot off (step management.secure_boot)'
  );
}
