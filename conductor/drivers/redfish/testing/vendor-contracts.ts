import { biosContract } from '#conductor/drivers/bios.contract.ts';
import { firmwareBootContract } from '#conductor/drivers/firmware-boot.contract.ts';
import type { Bmc } from '#conductor/drivers/interfaces.ts';
import { type ManagementContract, managementContract } from '#conductor/drivers/management.contract.ts';
import { powerContract } from '#conductor/drivers/power.contract.ts';
import { redfishBootDevices } from '#conductor/drivers/redfish/boot-plans.ts';
import { type VendorName, vendors } from '#test/simulators/redfish/vendors.ts';

const notKnown = 'its boot mode is null';
const managementSkips: Readonly<Partial<Record<VendorName, ManagementContract['skip']>>> = {
  Lenovo: {
    'sets a persistent boot device': 'it takes a device for one boot only',
    'keeps a persistent device over a boot': 'it takes a device for one boot only',
  },
  DGX: { 'sets the boot mode along': notKnown },
};

const bios = {
  enumeration: { name: 'SysProfile', from: 'PerfPerWatt', to: 'Performance', illegal: 'Turbo' },
  integer: { name: 'NumCores', from: '8', to: '4' },
  boolean: { name: 'Virtualization', from: 'true', to: 'false' },
};

interface Subject extends Bmc {
  readonly isOn: () => Promise<boolean>;
  close(): Promise<void>;
}

/** Runs every contract at the maker's BMC. */
export function vendorContracts(vendor: VendorName, name: string, make: () => Promise<Subject>): void {
  const { bootTargets = [], hidesBootMode, noSecureBoot, noBiosAttributes } = vendors[vendor];
  const skip = managementSkips[vendor];
  powerContract({ name, make });
  // not every BMC has the firmware boot by HTTP
  const bootDevices = redfishBootDevices.filter((each) => each !== 'uefihttp' || bootTargets.includes('UefiHttp'));
  managementContract({ name, make, bootDevices, ...(skip ? { skip } : {}) });
  firmwareBootContract({
    name,
    make,
    has: [...(hidesBootMode ? [] : ['boot mode' as const]), ...(noSecureBoot ? [] : ['secure boot' as const])],
  });
  if (!noBiosAttributes) biosContract({ name, make, ...bios });
}
