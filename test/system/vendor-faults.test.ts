import { createInstantClock, createRigs } from '#conductor/drivers/redfish/testing/rigs.ts';
import { strike, unclear } from '#conductor/drivers/redfish/testing/unclear-answers.ts';
import { vendorContracts } from '#conductor/drivers/redfish/testing/vendor-contracts.ts';
import { vendorNames, vendors } from '#test/simulators/redfish/vendors.ts';

/** Each maker's BMC keeps every contract while each of its calls meets a fault once: one fault after the other. */

const { rig } = createRigs();
const timings = { pollMs: 1000, resendAfterMs: 30_000 };

for (const vendor of vendorNames) {
  for (const [what, fault, ofReads] of unclear) {
    vendorContracts(vendor, `${vendor}: ${what}`, async () => {
      const bmc = await rig({ quirks: vendors[vendor], redfish: { timings }, clock: createInstantClock() });
      await bmc.power.getPowerState();
      strike(bmc.simulator, fault, ofReads);
      return bmc;
    });
  }
}
