// A client of the official SDK's at a bridge: calls one tool, answers what it is asked, and prints
// what came of it. `node client.mjs URL OPTIONS`, where OPTIONS is JSON: `sdk` (`client`, or `sdk` for
// the one of before 2026-07-28), `tool`, `arguments`, `answers`, `cancelAfter` (milliseconds).
const [address, options] = [new URL(process.argv[2]), JSON.parse(process.argv[3])]
const asked = []
const told = []

async function connected() {
  const capabilities = { elicitation: { form: {}, url: {} } }
  const answer = async (request) => {
    asked.push(request.params)
    return options.answers.shift()
  }
  if (options.sdk === 'sdk') {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
    const { StreamableHTTPClientTransport } = await import(
      '@modelcontextprotocol/sdk/client/streamableHttp.js'
    )
    const { ElicitRequestSchema } = await import('@modelcontextprotocol/sdk/types.js')
    const client = new Client({ name: 'e2e', version: '1' }, { capabilities })
    client.setRequestHandler(ElicitRequestSchema, answer)
    await client.connect(new StreamableHTTPClientTransport(address))
    return { client, call: (params, more) => client.callTool(params, undefined, more) }
  }
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const negotiated = { capabilities, versionNegotiation: { mode: options.mode ?? 'auto' } }
  const client = new Client({ name: 'e2e', version: '1' }, negotiated)
  client.setRequestHandler('elicitation/create', answer)
  await client.connect(new StreamableHTTPClientTransport(address))
  return { client, call: (params, more) => client.callTool(params, more) }
}

const { client, call } = await connected()
const tools = (await client.listTools()).tools.map((tool) => tool.name)
const leaving = new AbortController()
if (options.cancelAfter) setTimeout(() => leaving.abort(), options.cancelAfter)
const outcome = {}
try {
  const params = { name: options.tool, arguments: options.arguments }
  outcome.result = await call(params, {
    onprogress: (progress) => told.push(progress.message),
    signal: leaving.signal,
  })
} catch (error) {
  outcome.failed = String(error)
}
if (!options.cancelAfter) {
  const { resources } = await client.listResources()
  outcome.conversation = (await client.readResource({ uri: resources[0].uri })).contents[0].text
}
console.log(JSON.stringify({ ...outcome, tools, asked, told }))
await new Promise((resolve) => setTimeout(resolve, 200))
await client.close()
