import { expect, onTestFinished, test } from 'vitest';
import { redfishHardwareType } from '#conductor/drivers/redfish/redfish.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';
import { startSshConsole } from '#test/simulators/redfish/ssh-console.ts';

test.each(['SSH', 'WebSocket'])('the time to open a console over %s does not end the open one', async (way) => {
  const ssh = await startSshConsole();
  const serialConsole =
    way === 'SSH' ? { SSH: ssh.offer } : { WebSocket: { ServiceEnabled: true, ConsoleURI: '/console/default' } };
  const bmc = await startRedfishSimulator({
    machine: createMemoryMachine(),
    username: 'admin',
    password: 'secret',
    quirks: { serialConsole },
  });
  const type = redfishHardwareType({ run, log: silentLog });
  onTestFinished(async () => {
    await type.close?.();
    await bmc.close();
    ssh.close();
  });
  const { console: offered } = type.connect({
    redfish_address: bmc.address,
    redfish_username: 'admin',
    redfish_password: 'secret',
    redfish_console_host_key: ssh.hostKey,
  });
  const deadline = new AbortController();
  const line = await offered?.open({ term: 'xterm', columns: 80, rows: 24 }, { signal: deadline.signal });
  const heard = new Promise((resolve) => {
    let text = '';
    line?.onOutput((bytes) => {
      text += bytes.toString();
      if (text === 'node login: ') line.write(Buffer.from('hello\r'));
      if (text.includes('hello')) resolve('still open');
    });
  });
  deadline.abort();
  expect(await Promise.race([heard, line?.ended])).toBe('still open');
  line?.hangUp();
});
