import { parseArgs } from 'node:util';
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
  },
});
const simulator = await startRedfishSimulator({
  host: values.host,
  port: Number(values.port),
  machine: remoteMachine(values.machine),
  username: values.username,
  password: values.password,
});
process.stdout.write(`Redfish service at ${simulator.address}\n`);
