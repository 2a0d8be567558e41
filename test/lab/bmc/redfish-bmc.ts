import { join } from 'node:path';
import { run } from '#shared/process/run.ts';
import type { Bmc, BmcOptions } from '#test/lab/bmc/ipmi-bmc.ts';
import { startLabProcess } from '#test/lab/inside.ts';
import type { LabDirectory } from '#test/lab/lab-directory.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

const username = 'admin';
const password = 'lab-secret';
const port = 8000;

/** Our Redfish simulator in front of a machine, in a process of its own inside the namespace. */
export async function startRedfishBmc(lab: LabDirectory, options: BmcOptions): Promise<Bmc> {
  const service = startLabProcess(
    process.execPath,
    [
      [join(import.meta.dirname, 'redfish-process.ts')],
      ['--host', options.address, '--port', String(port), '--machine', options.machineSocket],
      ['--username', username, '--password', password],
      options.secureBoot ? ['--secure-boot'] : [],
    ].flat(),
    { namespace: lab.namespace, directory: lab.path, name: `${options.machineName}-bmc` },
  );
  const address = `http://${options.address}:${port}`;
  await waitUntil(`the Redfish service of ${options.machineName}`, async () => {
    if (!service.isRunning()) return undefined;
    await run('ip', ['netns', 'exec', lab.namespace, 'curl', '--silent', '--fail', `${address}/redfish/v1/`]);
    return true;
  });
  return {
    driver: 'redfish',
    driverInfo: { redfish_address: address, redfish_username: username, redfish_password: password },
    stop: () => service.stop(),
  };
}
