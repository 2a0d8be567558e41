import { createServer, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { answerChassisControl } from '#test/lab/bmc/chassis-control.ts';
import type { SimulatedBoot, SimulatedMachine, SimulatedPowerAction } from '#test/simulators/redfish/machine.ts';

/**
 * The wire between a machine's launcher and the BMC in front of it, which is a process of its own inside the lab's
 * namespace: HTTP on a unix socket. `GET /power`, `PUT /power` (the action as text), `GET /boot`, `PUT /boot` (JSON),
 * `PUT /media` (the path of an image, or nothing), `POST /chassis` (the arguments of ipmi_sim's chassis control program as text).
 */
export async function serveMachine(machine: SimulatedMachine, socketPath: string): Promise<() => Promise<void>> {
  const answer = async (message: IncomingMessage): Promise<string> => {
    const body = await text(message);
    switch (`${message.method} ${message.url}`) {
      case 'GET /power':
        return machine.getPower();
      case 'PUT /power':
        await machine.setPower(body as SimulatedPowerAction);
        return '';
      case 'GET /boot':
        return JSON.stringify(await machine.getBoot());
      case 'PUT /boot':
        await machine.setBoot(JSON.parse(body) as SimulatedBoot);
        return '';
      case 'PUT /media':
        await machine.setMedia?.(body === '' ? undefined : body);
        return '';
      case 'POST /chassis':
        return answerChassisControl(machine, body.trim().split(/\s+/));
      default:
        throw new AppError('not_found', `machine control has no ${message.method} ${message.url}`);
    }
  };
  const server = createServer((message, response) => {
    answer(message).then(
      (body) => response.end(body),
      (error: unknown) => response.writeHead(500).end(errorChain(error)),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socketPath, resolve);
  });
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
}

/** The machine behind such a socket. */
export function remoteMachine(socketPath: string): SimulatedMachine {
  const call = (method: string, path: string, body = ''): Promise<string> =>
    new Promise((resolve, reject) => {
      const outgoing = request({ socketPath, method, path }, (response) => {
        text(response).then((answer) => {
          if (response.statusCode === 200) resolve(answer);
          else reject(new AppError('bmc_error', `machine control ${method} ${path}: ${answer}`));
        }, reject);
      });
      outgoing.once('error', reject);
      outgoing.end(body);
    });
  return {
    getPower: async () => ((await call('GET', '/power')) === 'on' ? 'on' : 'off'),
    setPower: async (action) => void (await call('PUT', '/power', action)),
    getBoot: async () => JSON.parse(await call('GET', '/boot')) as SimulatedBoot,
    setBoot: async (boot) => void (await call('PUT', '/boot', JSON.stringify(boot))),
    setMedia: async (path) => void (await call('PUT', '/media', path ?? '')),
  };
}
