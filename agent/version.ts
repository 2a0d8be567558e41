/** The agent's version, as heartbeats and `GET /v1/status` report it: the one of package.json (a test compares them). */
export const agentVersion = '0.1.0';
