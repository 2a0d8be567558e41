import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server that gives recorded answers. */
export interface ReplayedServer {
  /** `http://127.0.0.1:…` */
  readonly url: string;
  /** Asked for, and not recorded; these are answered 501. */
  readonly missing: readonly string[];
  close(): Promise<void>;
}

/**
 * Gives recorded answers over HTTP: by `GET /path`, or by `GET /path?name=value` for requests with these parameters among
 * theirs. An answer is as `curl -i` prints it, or JSON alone, which is a 200 with the time of now.
 */
export async function replayAnswers(outputs: Readonly<Record<string, string>>): Promise<ReplayedServer> {
  const missing: string[] = [];
  const answers = Object.entries(outputs).map(([line, text]) => {
    const [method = '', target = ''] = line.split(' ');
    return { method, url: new URL(target, 'http://replayed'), text };
  });
  const server = createServer((request, response) => {
    const asked = new URL(request.url ?? '', 'http://replayed');
    const fitting = answers
      .filter(({ method, url }) => method === request.method && url.pathname === asked.pathname)
      .filter(({ url }) => [...url.searchParams].every(([name, value]) => asked.searchParams.get(name) === value))
      .toSorted((a, b) => b.url.searchParams.size - a.url.searchParams.size);
    const [best] = fitting;
    if (!best) missing.push(`${request.method} ${request.url}`);
    request.resume();
    answer(response, best?.text ?? 'HTTP/1.1 501 Not Recorded\n\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    missing,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answer(response: ServerResponse, text: string): void {
  if (!text.startsWith('HTTP/')) {
    response.writeHead(200, { 'content-type': 'application/json' }).end(text);
    return;
  }
  const [head = '', ...body] = text.split('\n\n');
  const [first = '', ...lines] = head.trimEnd().split('\n');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  // the server's clock is a part of what it says
  response.sendDate = false;
  response.writeHead(Number(first.split(' ')[1]), Object.fromEntries(headers)).end(body.join('\n\n'));
}
