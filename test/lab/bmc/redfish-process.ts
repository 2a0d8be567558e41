import { parseArgs } from 'node:util';
import { run } from '#shared/process/run.ts';
import { remoteMachine } from '#test/lab/bmc/machine-control.ts';
import { startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';

/** A program: the Redfish simulator for the machine behind a unix socket, until it is killed. */
const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '0' },
    machine: { type: 'string', default: '' },
    username: { type: 'string', default: 'admin' },
    password: { type: 'string', default: '' },
    'secure-boot': { type: 'boolean', default: false },
  },
});
const machine = remoteMachine(values.machine);
const image = `${values.machine}.iso`;
const simulator = await startRedfishSimulator({
  host: values.host,
  port: Number(values.port),
  machine: {
    ...machine,
    // as a BMC does, it has read what it shows to the machine
    setMedia: async (url) => {
      if (url !== undefined) await run('curl', ['--silent', '--show-error', '--fail', '--output', image, url]);
      await machine.setMedia?.(url === undefined ? undefined : image);
    },
  },
  username: values.username,
  password: values.password,
  secureBoot: values['secure-boot'],
});
process.stdout.write(`Redfish service at ${simulator.address}\n`);
