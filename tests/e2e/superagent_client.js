async function chatWithInterrupt(agentId, sessionId, message) {
  const response = await fetch('/api/v1/chat/stream', {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'X-A2UI': 'true'
    },
    body: JSON.stringify({ agent_id: agentId, session_id: sessionId, message })
  });

  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let buffer = '';

  while (true) {
    const { done, value } = await reader.read();
    if (done) break;

    buffer += decoder.decode(value, { stream: true });
    const frames = buffer.split('\n\n');
    buffer = frames.pop();

    for (const frame of frames) {
      const eventMatch = frame.match(/^event: (.+)/m);
      const dataMatch = frame.match(/^data: (.+)/m);
      if (!eventMatch || !dataMatch) continue;

      const event = JSON.parse(dataMatch[1]);

      if (event.type === 'interrupt') {
        // 显示确认对话框
        const userInput = await showConfirmDialog(event.data.reason, event.data.fields);
        
        // 恢复对话
        await resumeChat(agentId, sessionId, userInput);
        return;
      }

      if (event.type === 'text') {
        appendToUI(event.data.delta);
      }
    }
  }
}

async function resumeChat(agentId, sessionId, input) {
  const response = await fetch('/api/v1/chat/resume', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ agent_id: agentId, session_id: sessionId, input })
  });

  const reader = response.body.getReader();
  // 读取恢复后的流...
}
