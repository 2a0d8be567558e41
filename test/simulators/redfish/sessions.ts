import { randomUUID } from 'node:crypto';
import { type Answer, errorAnswer, parseObject } from '#test/simulators/redfish/answers.ts';
import { sessionsPath } from '#test/simulators/redfish/service-resources.ts';
import type { ServiceRequest, ServiceState } from '#test/simulators/redfish/service-state.ts';

export function authenticated(state: ServiceState, request: ServiceRequest): boolean {
  const token = request.headers['x-auth-token'];
  if (typeof token === 'string') return state.sessions.has(token);
  const expected = Buffer.from(`${state.username}:${state.password}`).toString('base64');
  return request.headers['authorization'] === `Basic ${expected}`;
}

export function createSession(state: ServiceState, request: ServiceRequest): Answer {
  const body = parseObject(request.body);
  if (body === undefined) return errorAnswer(400, 'MalformedJSON');
  if (body['UserName'] !== state.username || body['Password'] !== state.password) {
    return errorAnswer(401, 'ResourceAtUriUnauthorized', { text: 'The credentials are invalid.' });
  }
  const token = randomUUID();
  const id = randomUUID().slice(0, 8);
  state.sessions.set(token, id);
  state.counters.logins += 1;
  const path = `${sessionsPath}/${id}`;
  const { namesSessionIn: place } = state.quirks;
  const locations = { Location: path, 'its link': '', 'its id': sessionsPath };
  return {
    status: 201,
    headers: { 'X-Auth-Token': token, Location: locations[place] },
    body: {
      ...(place === 'its id' ? {} : { '@odata.id': path }),
      '@odata.type': '#Session.v1_3_0.Session',
      Id: id,
      Name: `Session ${id}`,
      UserName: state.username,
    },
  };
}

export function endSession(state: ServiceState, path: string): Answer {
  const id = path.slice(sessionsPath.length + 1);
  for (const [token, each] of state.sessions) if (each === id) state.sessions.delete(token);
  state.counters.logouts += 1;
  return { status: 204 };
}
