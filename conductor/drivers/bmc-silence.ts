import { AsyncLocalStorage } from 'node:async_hooks';

/** Gets the request that a BMC has not answered for a while; answers what is called once it has ended. */
export type OnSilent = (request: string) => () => void;

/** A BMC that takes so long for one answer is worth a word, long before its time is over; milliseconds. */
const silentAfterMs = 10_000;

const listening = new AsyncLocalStorage<OnSilent>();

/** Has `onSilent` called for each request of this call that is not answered for a while. */
export function whileListening<T>(onSilent: OnSilent | undefined, call: () => Promise<T>): Promise<T> {
  return onSilent ? listening.run(onSilent, call) : call();
}

/** Waits for one request's answer, and reports its silence to the call that listens. @param request `GET https://bmc/redfish/v1/` */
export async function reportSilence<T>(request: string, answer: Promise<T>): Promise<T> {
  const onSilent = listening.getStore();
  if (!onSilent) return answer;
  let ended = (): void => undefined;
  const timer = setTimeout(() => {
    ended = onSilent(request);
  }, silentAfterMs);
  try {
    return await answer;
  } finally {
    clearTimeout(timer);
    ended();
  }
}
