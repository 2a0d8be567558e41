import { type Answer, errorAnswer, parseObject } from '#test/simulators/redfish/answers.ts';
import { collection, enabled } from '#test/simulators/redfish/service-resources.ts';
import type { ServiceState } from '#test/simulators/redfish/service-state.ts';

/** Where events are sent; none ever are (DMTF EventService). */

export const eventServicePath = '/redfish/v1/EventService';
export const subscriptionsPath = `${eventServicePath}/Subscriptions`;
const eventTypes = ['StatusChange', 'ResourceUpdated', 'ResourceAdded', 'ResourceRemoved', 'Alert'];

export type SimulatedSubscriptions = Map<string, Record<string, unknown>>;

export function eventResources(subscriptions: SimulatedSubscriptions): Record<string, Record<string, unknown>> {
  const type = '#EventDestination.v1_7_0.EventDestination';
  const members = [...subscriptions].map(([id, fields]): [string, Record<string, unknown>] => [
    `${subscriptionsPath}/${id}`,
    { '@odata.type': type, Id: id, Name: `Subscription ${id}`, SubscriptionType: 'RedfishEvent', ...fields },
  ]);
  return {
    [eventServicePath]: {
      '@odata.type': '#EventService.v1_5_0.EventService',
      Id: 'EventService',
      Name: 'Event Service',
      ServiceEnabled: true,
      Status: enabled,
      DeliveryRetryAttempts: 3,
      DeliveryRetryIntervalSeconds: 30,
      EventTypesForSubscription: eventTypes,
      Subscriptions: { '@odata.id': subscriptionsPath },
      Actions: {
        '#EventService.SubmitTestEvent': { target: `${eventServicePath}/Actions/EventService.SubmitTestEvent` },
      },
    },
    [subscriptionsPath]: collection(
      'EventDestinationCollection',
      'Event Subscriptions',
      members.map(([path]) => path),
    ),
    ...Object.fromEntries(members),
  };
}

/** POST to the collection, DELETE of a member; `undefined` = neither. */
export function eventAction(
  { subscriptions }: ServiceState,
  { method, path, body }: { readonly method: string; readonly path: string; readonly body: string },
): Answer | undefined {
  if (path === subscriptionsPath && method === 'POST') {
    const given = parseObject(body);
    if (given === undefined) return errorAnswer(400, 'MalformedJSON');
    const { Destination: destination, Protocol: protocol, Context: context = null, HttpHeaders: _, ...rest } = given;
    if (typeof destination !== 'string' || !URL.canParse(destination)) return errorAnswer(400, 'PropertyValueError');
    if (protocol !== 'Redfish') return errorAnswer(400, 'PropertyValueNotInList');
    const id = String(Math.max(0, ...[...subscriptions.keys()].map(Number)) + 1);
    // headers may be logins: they are never shown (DSP0266)
    subscriptions.set(id, { Destination: destination, Protocol: protocol, Context: context, ...rest, HttpHeaders: [] });
    return { status: 201, headers: { Location: `${subscriptionsPath}/${id}` } };
  }
  const id = path.startsWith(`${subscriptionsPath}/`) ? path.slice(subscriptionsPath.length + 1) : undefined;
  if (id === undefined || method !== 'DELETE') return undefined;
  return subscriptions.delete(id) ? { status: 204 } : errorAnswer(404, 'ResourceNotFound');
}
