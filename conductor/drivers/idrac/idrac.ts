import { clearJobQueue } from '#conductor/drivers/idrac/job-queue.ts';
import type { DriverDefinition, ManagementInterface } from '#conductor/drivers/interfaces.ts';
import { type RedfishOptions, redfishDriver, redfishHardwareType } from '#conductor/drivers/redfish/redfish.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/system.ts';

const both = ['idrac-redfish', 'redfish'] as const;

const dellOnly = (system: RedfishSystem): Partial<ManagementInterface> => ({
  clearJobQueue: (options) => clearJobQueue(system, options),
});

/** Dell's BMC by Redfish, under the names that Ironic's `idrac` hardware type has and metal3 enrolls a host with. */
export const idracDriver: DriverDefinition<RedfishOptions> = {
  ...redfishDriver,
  name: 'idrac',
  interfaces: {
    bios: [...both, 'no-bios'],
    boot: ['ipxe', 'pxe', 'idrac-redfish-virtual-media', 'redfish-virtual-media', 'http', 'http-ipxe'],
    console: ['no-console', 'redfish-serial'],
    firmware: ['redfish', 'no-firmware'],
    inspect: ['agent', ...both, 'no-inspect'],
    management: both,
    power: both,
    raid: ['agent', ...both, 'no-raid'],
    vendor: ['no-vendor', ...both],
  },
  site: { ...redfishDriver.site, types: ['idrac'] },
  open: (context, options) => redfishHardwareType(context, options, dellOnly),
};
